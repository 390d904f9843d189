"""`mteb-nano agreement`."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from mteb_nano.report.console import resamples, seed, tell_problems, write_tables, write_text

_EXAMPLES = """examples:
  mteb-nano agreement                       the published scores alone
  mteb-nano agreement results               your models added
  mteb-nano agreement --plot agreement      writes agreement.svg and agreement.png
"""


def add_agreement(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register `agreement`."""
    parser = subparsers.add_parser(
        "agreement",
        help="how far NanoViDoRe v3 stands for the full ViDoRe v3",
        description="Correlation, offset and wrongly ordered pairs over the models that have both\n"
        "scores: published ones, and yours (NanoViDoReV3 and the 8 Vidore3*Retrieval tasks).",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "results", nargs="*", type=Path, metavar="RESULTS", help="your result files"
    )
    parser.add_argument("--resamples", type=resamples, default=2000, metavar="N")
    parser.add_argument("--seed", type=seed, default=0)
    parser.add_argument("--plot", type=Path, metavar="NAME", help="draw NAME.svg and NAME.png")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there, not to the terminal")
    parser.add_argument("--quiet", action="store_true", help="do not list what cannot be used")
    formats = parser.add_mutually_exclusive_group()
    for name in ("markdown", "json"):
        formats.add_argument(f"--{name}", dest="format", action="store_const", const=name)
    parser.set_defaults(run=run_agreement, format="terminal")


def run_agreement(args: argparse.Namespace) -> int:
    """Print or write the agreement, and draw it."""
    from mteb_nano.catalog import NANO_VIDORE_V3
    from mteb_nano.report import agreement, reference
    from mteb_nano.report.reading import Reading, read_results

    reading = Reading()
    if args.results:
        tasks = [NANO_VIDORE_V3.name, *reference.FULL_TASKS.values()]
        reading = read_results(args.results, tasks=tasks, progress=not args.quiet)
    tell_problems(reading.problems, quiet=args.quiet)
    points = agreement.collect_points(reading.results)
    found = agreement.measure(points, n_resamples=args.resamples, seed=args.seed)
    tables = agreement.agreement_tables(found)
    if args.plot:
        from mteb_nano.report.plots import plot_agreement

        plot_agreement(found, args.plot)
    if args.format == "json":
        write_text(json.dumps(asdict(found), ensure_ascii=False, indent=2) + "\n", args.out)
    else:
        write_tables(tables, args.format, args.out)
    return 0
