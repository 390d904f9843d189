"""`mteb-nano report`."""

import argparse
import sys
from pathlib import Path

from mteb_nano.catalog import Dataset
from mteb_nano.errors import UserError
from mteb_nano.manifest import read_manifest
from mteb_nano.report.boards import Board, embedded, make_boards
from mteb_nano.report.console import (
    add_results_options,
    dataset_of,
    tell_problems,
    write_tables,
    write_text,
)
from mteb_nano.report.estimates import Resampling

_EXAMPLES = """examples:
  mteb-nano report results                    tables in the terminal
  mteb-nano report results --markdown         for a model card or a pull request
  mteb-nano report results --csv > all.csv    one row per model and subset
  mteb-nano report results --plots plots --data my_dataset
"""


def add_report(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register `report`."""
    parser = subparsers.add_parser(
        "report",
        help="tables with intervals from result files",
        description="Tables from mteb result files: means with 95% intervals (queries resampled\n"
        "within each source or language), ranks, languages, formats, OCR modes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_results_options(parser)
    formats = parser.add_mutually_exclusive_group()
    for name, what in (
        ("markdown", "Markdown tables"),
        ("csv", "one row per model and subset"),
        ("json", "every figure at full precision"),
    ):
        formats.add_argument(
            f"--{name}", dest="format", action="store_const", const=name, help=what
        )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there, not to the terminal")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw SVG and PNG into it")
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="dataset folder that the results are of: its manifest tells all subsets and the CER",
    )
    parser.set_defaults(run=run_report, format="terminal")


def run_report(args: argparse.Namespace) -> int:
    """Print or write the report."""
    from mteb_nano.report import render
    from mteb_nano.report.reading import read_results
    from mteb_nano.report.tables import make_tables

    datasets = [dataset_of(folder) for folder in args.data]
    reading = read_results(args.results, tasks=args.task, progress=not args.quiet)
    tell_problems(reading.problems, quiet=args.quiet)
    boards = make_boards(reading.results, datasets=datasets)
    resampling = Resampling(n_resamples=args.resamples, seed=args.seed)
    if args.plots:
        draw_plots(boards, args.plots, datasets=datasets, resampling=resampling)
    if args.format == "csv":
        write_text(render.to_csv(boards, resampling=resampling), args.out)
    elif args.format == "json":
        text = render.to_json(boards, reading.problems, resampling=resampling)
        write_text(text + "\n", args.out)
    else:
        tables = [t for board in boards for t in make_tables(board, resampling=resampling)]
        write_tables(tables, args.format, args.out)
    return 0


def draw_plots(
    boards: list[Board], folder: Path, *, datasets: list[Dataset], resampling: Resampling
) -> None:
    """Draw every board; CER comes from the manifest of its data where that is at hand."""
    try:
        from mteb_nano.report.plots import plot_board
    except ModuleNotFoundError as error:
        raise UserError(f"plots need {error.name}: pip install 'mteb-nano[report]'") from None
    for board in boards:
        data = next((d for d in (*datasets, *embedded()) if board.task in d.task_names), None)
        rates = read_manifest(data.folder).get("cer") if data and data.folder else None
        for path in plot_board(board, folder, resampling=resampling, error_rates=rates):
            print(path, file=sys.stderr)
