"""`mteb-nano report`."""

import argparse
import sys
from pathlib import Path

from mteb_nano.catalog import Dataset, from_manifest
from mteb_nano.errors import UserError
from mteb_nano.manifest import read_manifest
from mteb_nano.report.boards import Board, embedded, make_boards
from mteb_nano.report.estimates import Resampling

_EXAMPLES = """examples:
  mteb-nano report results                    tables in the terminal
  mteb-nano report results --markdown         for a model card or a pull request
  mteb-nano report results --csv > all.csv    one row per model and subset
  mteb-nano report results --plots plots --data my_dataset
"""
_MAX_PROBLEMS = 30


def add_results_options(parser: argparse.ArgumentParser) -> None:
    """Add what every command that reads result files takes."""
    parser.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS", help="result files, or folders of them"
    )
    parser.add_argument(
        "--task", action="append", metavar="NAME", help="only this task (can be given again)"
    )
    parser.add_argument(
        "--resamples",
        type=resamples,
        default=Resampling.n_resamples,
        metavar="N",
        help="resamples behind each interval (default: %(default)s)",
    )
    parser.add_argument("--seed", type=seed, default=0, help="of the resampling (default: 0)")
    parser.add_argument(
        "--quiet", action="store_true", help="do not list files and parts that cannot be used"
    )


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
        text = render.to_csv(boards, resampling=resampling)
    elif args.format == "json":
        text = render.to_json(boards, reading.problems, resampling=resampling) + "\n"
    else:
        tables = [t for board in boards for t in make_tables(board, resampling=resampling)]
        text = render.to_markdown(tables) if args.format == "markdown" else None
        if text is None and args.out is None:
            render.print_tables(tables)
        elif text is None:
            text = render.to_text(tables)
    if text is not None:
        write_text(text, args.out)
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


def dataset_of(folder: Path) -> Dataset:
    """Return what a dataset folder's manifest says."""
    return from_manifest(read_manifest(folder), folder)


def tell_problems(problems: list[str], *, quiet: bool) -> None:
    """Print what could not be used on stderr, at most 30 lines of it."""
    if quiet:
        return
    for line in problems[:_MAX_PROBLEMS]:
        print(line, file=sys.stderr)
    if len(problems) > _MAX_PROBLEMS:
        print(f"... and {len(problems) - _MAX_PROBLEMS} more (--json has all)", file=sys.stderr)


def write_text(text: str, out: Path | None) -> None:
    """Write text to a file, beside it first, or to stdout.

    Raises:
        UserError: The file cannot be written.
    """
    # File names need not be UTF-8; what cannot be encoded is shown as Python shows it.
    content = text.encode("utf-8", "backslashreplace")
    if out is None:
        sys.stdout.write(content.decode())
        return
    part = out.with_name(f".{out.name}.partial")
    try:
        part.write_bytes(content)
        part.replace(out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UserError(f"{out}: cannot be written: {error.strerror}") from None


def resamples(text: str) -> int:
    """Parse the number of resamples; fewer than 100 have no 2.5% tail to speak of."""
    return _integer(text, low=100, high=1_000_000)


def seed(text: str) -> int:
    """Parse a seed."""
    return _integer(text, low=0, high=2**63 - 1)


def _integer(text: str, *, low: int, high: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        raise argparse.ArgumentTypeError(f"expected a number from {low} to {high}, got {text!r}")
    return value
