"""MaxSim on the CPU against colpali-engine's `score_multi_vector`: speed, agreement, memory.

    python -m benchmarks.maxsim

Both score the same random, clustered unit vectors in turn, several times; the ratio is of the
medians of CPU seconds. Memory is measured in processes of their own that read shards from disk.
"""

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.peak_memory import peak_mb
from builders.vidore.maxsim import MaxSim
from builders.vidore.shards import pack_shard, read_shard, write_shard

DIM = 320  # vultr/VultronRetrieverCore-Qwen3.5-4.5B
PAGE_TOKENS = (600, 800)
QUERY_TOKENS = (25, 55)
N_QUERIES = 50
SHARD_PAGES = 256


def main() -> int:
    """Print the table and return 0 if both agree."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shards", type=int, nargs="+", default=[2, 8])
    options = parser.parse_args()
    torch.set_num_threads(1)
    same = compare(options.pages, options.rounds)
    print("\npages   peak MB")
    for n_shards in options.shards:
        code = f"from benchmarks.maxsim import run; run({n_shards})"
        subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])
    return 0 if same else 1


def compare(n_pages: int, rounds: int) -> bool:
    """Score the same pages in turn, print the ratio, and return whether the scores agree."""
    from colpali_engine.utils.processing_utils import BaseVisualRetrieverProcessor

    generator = torch.Generator().manual_seed(0)
    centers = _unit(torch.randn(64, DIM, generator=generator))
    queries = _vectors(generator, centers, N_QUERIES, QUERY_TOKENS)
    pages = _vectors(generator, centers, n_pages, PAGE_TOKENS)
    tokens, lengths = torch.cat(pages), [len(page) for page in pages]
    ways = {
        "score_multi_vector": lambda: BaseVisualRetrieverProcessor.score_multi_vector(
            queries, pages, device="cpu"
        ),
        "MaxSim": lambda: MaxSim(queries).score(tokens, lengths),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    scores = {}
    for _ in range(rounds):
        for way, score in ways.items():
            start = time.process_time()
            scores[way] = score()
            seconds[way].append(time.process_time() - start)
    theirs, ours = (statistics.median(seconds[way]) for way in ways)
    furthest = float((scores["MaxSim"] - scores["score_multi_vector"]).abs().max())
    # Scores are sums over some 40 query tokens: 1e-5 of each of them.
    relative = furthest / float(scores["MaxSim"].abs().max())
    print(
        f"{n_pages:,} pages, {N_QUERIES} queries: score_multi_vector {theirs:.2f} s, "
        f"MaxSim {ours:.2f} s, {theirs / ours:.2f}x; largest difference {furthest:.1e} "
        f"({relative:.1e} of the largest score)"
    )
    return relative <= 1e-5


def run(n_shards: int) -> None:
    """Score shards from disk one after the other; print pages and peak memory."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    centers = _unit(torch.randn(64, DIM, generator=generator))
    max_sim = MaxSim(_vectors(generator, centers, N_QUERIES, QUERY_TOKENS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shard"
        write_shard(path, pack_shard(_vectors(generator, centers, SHARD_PAGES, PAGE_TOKENS)))
        columns = []
        for _ in range(n_shards):
            found = read_shard(path, SHARD_PAGES)
            if found is None:
                raise RuntimeError("the shard that was just written cannot be read")
            columns.append(max_sim.score(*found))
    print(f"{n_shards * SHARD_PAGES:5,} {peak_mb():9,.0f}", flush=True)


def _vectors(
    generator: torch.Generator, centers: torch.Tensor, n: int, tokens: tuple[int, int]
) -> list[torch.Tensor]:
    """Return n items of some tokens each, near the centers."""
    items = []
    for _ in range(n):
        length = int(torch.randint(*tokens, (1,), generator=generator))
        picked = centers[torch.randint(0, len(centers), (length,), generator=generator)]
        noise = torch.randn(length, DIM, generator=generator) * 0.9 / math.sqrt(DIM)
        items.append(_unit(picked + noise))
    return items


def _unit(vectors: torch.Tensor) -> torch.Tensor:
    """Return the vectors at length 1."""
    return torch.nn.functional.normalize(vectors, dim=-1)


if __name__ == "__main__":
    sys.exit(main())
