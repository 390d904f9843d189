"""`mteb-nano leaderboard`."""

import argparse
from pathlib import Path

from mteb_nano.errors import UserError
from mteb_nano.report.console import (
    add_results_options,
    dataset_of,
    tell_problems,
    write_text,
)

_EXAMPLES = """examples:
  mteb-nano leaderboard results --out leaderboard.html
"""


def add_leaderboard(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register `leaderboard`."""
    parser = subparsers.add_parser(
        "leaderboard",
        help="one HTML page from result files",
        description="One self-contained HTML file: sortable and filterable tables, intervals\n"
        "drawn, the published means of NanoViDoRe v3 as marked rows. It loads nothing from the\n"
        "network.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_results_options(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the page to write")
    parser.add_argument("--title", default="Document retrieval, nano benchmarks")
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="dataset folder that results are of: its manifest tells all subsets",
    )
    parser.set_defaults(run=run_leaderboard)


def run_leaderboard(args: argparse.Namespace) -> int:
    """Write the page."""
    try:
        from mteb_nano.report.leaderboard import leaderboard_html
    except ModuleNotFoundError as error:
        raise UserError(f"the page needs {error.name}: pip install 'mteb-nano[report]'") from None
    from mteb_nano.report.agreement import collect_points, measure
    from mteb_nano.report.boards import make_boards
    from mteb_nano.report.estimates import Resampling
    from mteb_nano.report.reading import read_results

    reading = read_results(args.results, tasks=args.task, progress=not args.quiet)
    tell_problems(reading.problems, quiet=args.quiet)
    boards = make_boards(reading.results, datasets=[dataset_of(folder) for folder in args.data])
    html = leaderboard_html(
        boards,
        resampling=Resampling(n_resamples=args.resamples, seed=args.seed),
        agreement=measure(collect_points(reading.results), n_resamples=args.resamples),
        title=args.title,
    )
    write_text(html, args.out)
    n_results = len(reading.results)
    print(f"{args.out}: {n_results} results in {len(boards)} boards, {len(html) // 1000} kB")
    return 0
