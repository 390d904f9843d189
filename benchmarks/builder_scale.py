"""All steps of the page builder but mining, on a made-up universe of the real size.

    python -m benchmarks.builder_scale

8 sources with the published numbers of pages and queries (19,252 and 2,419 x 6), page images of
about 100 kB, page texts of some 300 words with planted copies. Candidates are drawn at random.
The peak of memory is that of the whole process, the making of the universe left out.
"""

import argparse
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from benchmarks.peak_memory import peak_mb
from builders.vidore.assemble import select_pages, write_pool
from builders.vidore.mining import mine_sources, read_mined
from builders.vidore.origins import parse_origins, read_sources
from builders.vidore.plan import make_plan
from builders.vidore.recipe import PUBLISHED_SOURCES, Recipe
from builders.vidore.sources import Source
from builders.vidore.verify import verify_folder

LANGUAGES = ("english", "french", "german", "italian", "portuguese", "spanish")
FORMATS = ("question", "question", "question", "keyword", "instruction")
QRELS_A_QUERY = 5  # 12,336 qrels a language over 2,419 queries
COPIES = 0.05  # of the pages
Result = TypeVar("Result")


class RandomMiner:
    """Scores pages at random, the same way every time."""

    about: dict[str, Any] = {"model": "random", "revision": "1"}  # noqa: RUF012

    def score(self, source: Source, query_ids: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return random scores."""
        return np.random.default_rng(0).random((len(query_ids), len(source.page_ids)))


def main() -> int:
    """Make the universe, and run the steps in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--image-kb", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="where to work; default: a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        make_universe(Path(folder) / "sources", options.image_kb)
        code = f"from benchmarks.builder_scale import run; run({folder!r})"
        root = Path(__file__).parents[1]
        return subprocess.run([sys.executable, "-c", code], check=False, cwd=root).returncode


def run(folder: str) -> None:
    """Run the steps and print seconds and peak memory; exit with 1 if the result is not right."""
    work, out = Path(folder) / "work", Path(folder) / "out"
    places = parse_origins([str(p) for p in sorted((Path(folder) / "sources").iterdir())])
    recipe = Recipe()
    start = time.perf_counter()
    sources = timed("read", lambda: read_sources(places))
    plan = timed("sample", lambda: make_plan(sources, places, recipe))
    mining = time.perf_counter()
    mine_sources(sources, plan, RandomMiner(), top_k=recipe.top_k, work=work)
    mining = time.perf_counter() - mining
    candidates, miner = read_mined(sources, plan, top_k=recipe.top_k, work=work)
    selection = timed("select", lambda: select_pages(sources, plan, candidates, recipe=recipe))
    timed(
        "write",
        lambda: write_pool(
            out, sources, plan, selection, recipe=recipe, name="MadeUp", miner=miner
        ),
    )
    peak = peak_mb()
    print(f"all      {time.perf_counter() - start - mining:6.1f} s wall, peak {peak:,.0f} MB")
    n_copies = len({(skip.source, skip.page_id) for skip in selection.skips})
    print(f"{len(selection.pages):,} pages, {n_copies} pages passed over as copies")
    failed = [check.line() for check in verify_folder(out) if not check.ok]
    print("\n".join(failed) or "every rule of the card holds")
    sys.exit(1 if failed else 0)


def timed(step: str, work: Callable[[], Result]) -> Result:
    """Return what a step gives, and print its seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{step:8} {wall:6.1f} s wall, {cpu:6.1f} s CPU", flush=True)
    return result


def make_universe(folder: Path, image_kb: int) -> None:
    """Write 8 sources of the published sizes."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(50_000)])
    image = _image(rng, image_kb)
    for name, published in PUBLISHED_SOURCES.items():
        for part in ("corpus", "queries", "qrels"):
            (folder / name / part).mkdir(parents=True)
        rows = _pages(rng, words, image, published.pages)
        path = folder / name / "corpus/test-00000-of-00001.parquet"
        with pq.ParquetWriter(path, pa.Table.from_pylist([next(rows)]).schema) as writer:
            while batch := [row for _, row in zip(range(100), rows, strict=False)]:
                writer.write_table(pa.Table.from_pylist(batch))
        _write_queries(rng, folder / name, published.groups, published.pages)


def _pages(
    rng: np.random.Generator, words: npt.NDArray[np.str_], image: bytes, n: int
) -> Iterator[dict[str, Any]]:
    """Yield pages; the first one twice, since its schema is taken from it."""
    text = ""
    for i in [0, *range(n)]:
        if rng.random() >= COPIES or not text:
            ranks = rng.zipf(1.3, rng.integers(150, 450)) % len(words)
            text = " ".join(words[ranks])
        # A comment before the end belongs to no pixel, and makes every image another file.
        unique = image[:-2] + b"\xff\xfe\x00\x0a" + f"{i:08}".encode() + image[-2:]
        yield {
            "corpus_id": i,
            "image": {"bytes": unique, "path": None},
            "doc_id": f"doc{i // 50}",
            "markdown": text,
            "page_number_in_doc": i % 50,
        }


def _image(rng: np.random.Generator, kilobytes: int) -> bytes:
    """Return a noisy JPEG of about the given size."""
    side = int((kilobytes * 1000 / 0.45) ** 0.5)
    picture = Image.fromarray(rng.integers(0, 255, (side, side), np.uint8))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=40)
    return buffer.getvalue()


def _write_queries(rng: np.random.Generator, folder: Path, n_groups: int, n_pages: int) -> None:
    """Write queries in blocks of a language, and their qrels."""
    judged = [rng.choice(n_pages, QRELS_A_QUERY, replace=False) for _ in range(n_groups)]
    queries = [
        {
            "query_id": block * n_groups + g,
            "query": f"query {g} in {language}",
            "language": language,
            "query_format": FORMATS[g % len(FORMATS)],
        }
        for block, language in enumerate(LANGUAGES)
        for g in range(n_groups)
    ]
    qrels = [
        {"query_id": row["query_id"], "corpus_id": int(page), "score": 1 + int(page) % 2}
        for row in queries
        for page in judged[row["query_id"] % n_groups]
    ]
    for part, rows in (("queries", queries), ("qrels", qrels)):
        path = folder / part / "test-00000-of-00001.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)


if __name__ == "__main__":
    sys.exit(main())
