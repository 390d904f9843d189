"""Our run against stock mteb's: the same texts, the same encoder, encodes, seconds and memory.

    python benchmarks/shared_corpus.py            both tasks, encoder with and without cost
    python benchmarks/shared_corpus.py --help

Both sides read the same generated texts from parquet on this disk, each in the layout that its
loader reads, and run in processes of their own through `mteb.evaluate`, in turn. The encoder only
sleeps: `--ms` a document is what encoding costs; with 0 everything that is not the model is left.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from builders.export import dataset_card, with_hub_features, write_dataset, write_parquet
from mteb_nano.catalog import MODES, NANO_VIDORE_V3, OCR_MLDR

WORDS = [f"word{i}" for i in range(2000)]


def main() -> None:
    """Print a table of both sides, or run one side (--side)."""
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--documents", type=int, default=400, help="in each corpus")
    p.add_argument("--queries", type=int, default=50, help="in each subset")
    p.add_argument("--ms", type=float, nargs="+", default=[0, 10], help="cost of a document")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--side", nargs=3, metavar=("WHO", "TASK", "FOLDER"), help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.side:
        print(json.dumps(run_side(*args.side, ms=args.ms[0])))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_pages(Path(folder), args.documents, args.queries)
        write_texts(Path(folder), args.documents, args.queries)
        for ms in args.ms:
            for task in ("NanoViDoReV3Markdown", "OCRMLDR"):
                report(task, ms, compare(task, folder, ms, args.repeat))


def compare(task: str, folder: str, ms: float, repeat: int) -> list[dict[str, dict[str, Any]]]:
    """Return `repeat` pairs of measurements, the two sides in turn."""

    def side(who: str) -> dict[str, Any]:
        command = [sys.executable, __file__, "--ms", str(ms), "--side", who, task, folder]
        with tempfile.TemporaryDirectory() as cache:  # of this side alone, and empty
            environment = {**os.environ, "HF_DATASETS_CACHE": cache}
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment
            )
        return json.loads(done.stdout.splitlines()[-1])

    return [{who: side(who) for who in ("ours", "stock")} for _ in range(repeat)]


def report(task: str, ms: float, pairs: Sequence[Mapping[str, Mapping[str, Any]]]) -> None:
    """Print the medians and the ratio pair by pair."""
    middle = len(pairs) // 2
    print(f"\n{task}, {ms:g} ms a document")
    for who in ("stock", "ours"):
        seconds = sorted(pair[who]["seconds"] for pair in pairs)[middle]
        memory = sorted(pair[who]["peak_mb"] for pair in pairs)[middle]
        encodes = pairs[0][who]["corpus_encodes"]
        print(f"  {who:5}  {encodes:3} corpus encodes  {seconds:7.2f} s  {memory:6.0f} MB peak")
    ratios = sorted(pair["stock"]["seconds"] / pair["ours"]["seconds"] for pair in pairs)
    same = all(pair["ours"]["scores"] == pair["stock"]["scores"] for pair in pairs)
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    print(f"  stock / ours = {ratios[middle]:.2f} ({spread}); scores equal: {same}")
    if not same:
        sys.exit("the scores differ: the times are not of the same work")


def run_side(who: str, task_name: str, folder: str, *, ms: float) -> dict[str, Any]:
    """Evaluate once and return corpus encodes, seconds, peak memory (MB) and main scores."""
    import datasets
    import mteb

    datasets.disable_progress_bars()
    encoder = make_encoder(ms)
    task = ours(task_name, folder) if who == "ours" else stock(task_name, folder)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as cache:
        result = mteb.evaluate(
            encoder,
            task,
            cache=mteb.ResultCache(Path(cache)),
            co2_tracker=False,
            show_progress_bar=False,
        )
    seconds = time.monotonic() - start
    scores = {s["hf_subset"]: s["main_score"] for s in result.task_results[0].scores["test"]}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    encodes = encoder.corpus_encodes
    return {"corpus_encodes": encodes, "seconds": seconds, "peak_mb": peak, "scores": scores}


def make_encoder(ms: float) -> Any:
    """Return an encoder that looks each text's vector up by its length, and sleeps."""
    import torch
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ModelMeta, ScoringFunction
    from mteb.types import PromptType

    class Sleeper(AbsEncoder):
        corpus_encodes = 0
        vectors = torch.randn(4096, 64, generator=torch.Generator().manual_seed(0))

        def __init__(self) -> None:
            self.mteb_model_meta = ModelMeta.create_empty(
                overwrites={
                    "name": "bench/sleeper",
                    "revision": "1",
                    "modalities": ["text"],
                    "similarity_fn_name": ScoringFunction.COSINE,
                }
            )

        def encode(self, inputs: Any, *, prompt_type: Any = None, **_: Any) -> torch.Tensor:
            rows = [len(text) % 4096 for batch in inputs for text in batch["text"]]
            if prompt_type == PromptType.document:
                self.corpus_encodes += 1
                time.sleep(len(rows) * ms / 1000)
            return self.vectors[rows]

    return Sleeper()


def ours(task_name: str, folder: str) -> Any:
    """Return our task, the generated data in place of the published ones."""
    import mteb

    os.environ[NANO_VIDORE_V3.variable] = f"{folder}/pages"
    os.environ[OCR_MLDR.variable] = f"{folder}/texts"
    return mteb.get_task(task_name)


def stock(task_name: str, folder: str) -> Any:
    """Return a task as mteb's contributors write one: metadata, and nothing overridden."""
    import mteb
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata

    model = mteb.get_task(task_name).metadata
    path = f"{folder}/stock-{'pages' if 'ViDoRe' in task_name else 'texts'}"

    class Stock(AbsTaskRetrieval):
        metadata = TaskMetadata(
            name=f"Stock{task_name}",
            description="as mteb does it",
            dataset={"path": path, "revision": "main"},
            type="Retrieval",
            category="t2t",
            eval_langs=model.eval_langs,
            main_score="ndcg_at_10",
        )

    return Stock()


def write_pages(folder: Path, n_documents: int, n_queries: int) -> None:
    """Write 8 sources over one corpus, in our layout and in stock mteb's."""
    rng = random.Random(0)
    size = n_documents * len(NANO_VIDORE_V3.sources)
    corpus = [(f"d{i:05}", text(rng, 60, 180)) for i in range(size)]
    sources = [NANO_VIDORE_V3.sources[i % 8] for i in range(size)]
    queries = [
        (f"{source}-{i}", text(rng, 5, 15), source)
        for source in NANO_VIDORE_V3.sources
        for i in range(n_queries)
    ]
    qrels = [
        (q, rng.choice([d for (d, _), o in zip(corpus, sources, strict=True) if o == s]), 1)
        for q, _, s in queries
    ]
    write_ours(
        folder / "pages",
        {
            "corpus": table(_id=[d for d, _ in corpus], markdown=[t for _, t in corpus],
                            source_dataset=sources),
            "queries": table(_id=[q for q, *_ in queries], query=[t for _, t, _ in queries],
                             source_dataset=[s for *_, s in queries]),
            "qrels": table(query_id=[q for q, *_ in qrels], corpus_id=[d for _, d, _ in qrels],
                           score=[s for *_, s in qrels]),
        },
        {"kind": "page-retrieval", "sources": [{"name": s} for s in NANO_VIDORE_V3.sources],
         "query_languages": list(NANO_VIDORE_V3.query_languages), "grades": [1]},
    )  # fmt: skip
    subsets = {
        source: (corpus, [(q, t) for q, t, s in queries if s == source],
                 [row for row in qrels if row[0].startswith(f"{source}-")])
        for source in NANO_VIDORE_V3.sources
    }  # fmt: skip
    write_stock(folder / "stock-pages", subsets)


def write_texts(folder: Path, n_documents: int, n_queries: int) -> None:
    """Write 15 language x setting pairs, in our layout and, as 60 subsets, in stock mteb's."""
    rng, parts, subsets = random.Random(1), {}, {}
    for lang in OCR_MLDR.languages:
        clean = [(f"d{i}", text(rng, 60, 180)) for i in range(n_documents)]
        asked = [(f"q{i}", text(rng, 5, 15)) for i in range(n_queries)]
        qrels = [(f"q{i}", f"d{rng.randrange(n_documents)}", 1) for i in range(n_queries)]
        for setting in OCR_MLDR.settings:
            noisy = [[(i, text(rng, 60, 180)) for i, _ in rows] for rows in (clean, asked)]
            pair = f"{lang}_{setting}"
            for part, rows, ocr in zip(("corpus", "queries"), (clean, asked), noisy, strict=True):
                parts[f"data/{pair}_{part}"] = table(
                    _id=[i for i, _ in rows],
                    clean_text=[t for _, t in rows],
                    ocr_text=[t for _, t in ocr],
                )
            parts[f"data/{pair}_qrels"] = table(
                query_id=[q for q, *_ in qrels],
                corpus_id=[d for _, d, _ in qrels],
                score=[s for *_, s in qrels],
            )
            text_of = {"clean_text": (clean, asked), "ocr_text": tuple(noisy)}
            for mode, (corpus, queries) in MODES.items():
                subset = (text_of[corpus][0], text_of[queries][1], qrels)
                subsets[f"{pair}_{mode}"] = subset
    languages, settings = list(OCR_MLDR.languages), list(OCR_MLDR.settings)
    about = {"kind": "ocr-retrieval", "languages": languages, "settings": settings, "grades": [1]}
    write_ours(folder / "texts", parts, about)
    write_stock(folder / "stock-texts", subsets)


def text(rng: random.Random, low: int, high: int) -> str:
    """Return words, from `low` to `high` of them."""
    return " ".join(rng.choices(WORDS, k=rng.randint(low, high)))


def table(**columns: list[Any]) -> pa.Table:
    """Return a table with the Hub's metadata."""
    return with_hub_features(pa.table(columns))


def write_ours(out: Path, parts: Mapping[str, pa.Table], about: Mapping[str, Any]) -> None:
    """Write a dataset folder of this project."""
    tables = {f"{name}/test-00000-of-00001.parquet": part for name, part in parts.items()}
    configs = {name.removeprefix("data/"): f"{name}/test-*" for name in parts}
    card = dataset_card(configs, "generated", license_id="cc0-1.0")
    write_dataset(out, manifest={"name": "Bench", **about}, tables=tables, card=card)


def write_stock(out: Path, subsets: Mapping[str, tuple[list, list, list]]) -> None:
    """Write the layout that mteb's own loader reads: three configs a subset."""
    configs = {}
    for subset, (corpus, queries, qrels) in subsets.items():
        parts = {
            "corpus": {"_id": [i for i, _ in corpus], "title": [""] * len(corpus),
                       "text": [t for _, t in corpus]},
            "queries": {"_id": [i for i, _ in queries], "text": [t for _, t in queries]},
            "qrels": {"query-id": [q for q, *_ in qrels], "corpus-id": [d for _, d, _ in qrels],
                      "score": [s for *_, s in qrels]},
        }  # fmt: skip
        for part, columns in parts.items():
            path = out / f"{subset}-{part}" / "test-00000-of-00001.parquet"
            path.parent.mkdir(parents=True)
            write_parquet(with_hub_features(pa.table(columns)), path)
            configs[f"{subset}-{part}"] = f"{subset}-{part}/test-*"
    card = dataset_card(configs, "generated", license_id="cc0-1.0")
    (out / "README.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()
