"""`mteb-nano compare`."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from mteb_nano.errors import UserError
from mteb_nano.report.command_report import resamples, seed, tell_problems, write_text
from mteb_nano.report.records import MAIN_METRIC, METRICS, Result
from mteb_nano.report.statistics import N_RESAMPLES

_EXAMPLES = """examples:
  mteb-nano compare results/results/org__a results/results/org__b
  mteb-nano compare run/per_query.jsonl@100 run/per_query.jsonl@500   two checkpoints
  mteb-nano compare run/per_query.jsonl                               its first and last step
  mteb-nano compare results --task NanoViDoReV3                       every pair, Holm-corrected
"""


def add_compare(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register `compare`."""
    parser = subparsers.add_parser(
        "compare",
        help="is B better than A? paired on the same queries",
        description="Difference with its 95% interval, sign-flip p-value, smallest detectable\n"
        "difference, wins, ties and losses, and the queries that moved most.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "systems",
        nargs="+",
        metavar="SYSTEM",
        help="result file, folder of result files, or an evaluator's per_query.jsonl[@STEP]"
        " (without a step: its last)",
    )
    parser.add_argument("--task", action="append", metavar="NAME", help="only this task")
    parser.add_argument(
        "--subset",
        action="append",
        metavar="PATTERN",
        help="only these subsets, e.g. 'de_*_ocr' (can be given again)",
    )
    parser.add_argument("--metric", choices=METRICS, default=MAIN_METRIC)
    parser.add_argument("--resamples", type=resamples, default=N_RESAMPLES, metavar="N")
    parser.add_argument("--seed", type=seed, default=0)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there, not to the terminal")
    parser.add_argument("--quiet", action="store_true", help="do not list what cannot be used")
    formats = parser.add_mutually_exclusive_group()
    for name in ("markdown", "json"):
        formats.add_argument(f"--{name}", dest="format", action="store_const", const=name)
    parser.set_defaults(run=run_compare, format="terminal")


def run_compare(args: argparse.Namespace) -> int:
    """Print or write the comparison of everything that was scored on the same data."""
    from mteb_nano.report import render
    from mteb_nano.report.boards import make_boards
    from mteb_nano.report.compare import compare_all, comparison_tables
    from mteb_nano.report.estimates import Resampling

    results, problems = _systems(args.systems, args.task)
    tell_problems(problems, quiet=args.quiet)
    _check_same_data(results)
    resampling = Resampling(n_resamples=args.resamples, seed=args.seed)
    tables, documents = [], []
    for board in make_boards(results):
        if len(board.results) < 2:  # noqa: PLR2004
            continue
        pairs = compare_all(
            board,
            labels=_labels(board.results, board.labels()),
            resampling=resampling,
            metric=args.metric,
            subset_patterns=args.subset or ("*",),
        )
        tables += comparison_tables(board, pairs, metric=args.metric)
        documents.append(
            {
                "task": board.task,
                "data_revision": board.data_revision,
                "metric": args.metric,
                "rounded": sorted({result.rounded for result in board.results}),
                "pairs": [asdict(pair) for pair in pairs],
            }
        )
    if args.format == "json":
        write_text(json.dumps(documents, ensure_ascii=False, indent=2) + "\n", args.out)
    elif args.format == "markdown":
        write_text(render.to_markdown(tables), args.out)
    elif args.out is not None:
        write_text(render.to_text(tables), args.out)
    else:
        render.print_tables(tables)
    return 0


def _systems(
    arguments: Sequence[str], tasks: Sequence[str] | None
) -> tuple[list[Result], list[str]]:
    from mteb_nano.report.evaluator_files import is_evaluator_file, read_evaluator_file, split_step
    from mteb_nano.report.reading import read_results

    results: list[Result] = []
    folders: list[Path] = []
    for argument in arguments:
        path, step = split_step(argument)
        if not is_evaluator_file(path):
            folders.append(path)
            continue
        found = read_evaluator_file(path, step=step)
        first, last = found[0].revision, found[-1].revision
        wanted = {last} if step is not None or len(arguments) > 1 else {first, last}
        results += [r for r in found if r.revision in wanted and (not tasks or r.task in tasks)]
    problems: list[str] = []
    if folders:
        reading = read_results(folders, tasks=tasks)
        results += reading.results
        problems = reading.problems
    return results, problems


def _check_same_data(results: Sequence[Result]) -> None:
    """Refuse to compare when there is nothing to pair, or when the data differ.

    Raises:
        UserError: With what was found.
    """
    revisions: dict[str, dict[str, list[str]]] = {}
    for result in results:
        revisions.setdefault(result.task, {}).setdefault(result.data_revision, []).append(
            result.model
        )
    for task, found in revisions.items():
        if len(found) > 1:
            lines = [f"  {revision}: {', '.join(models[:5])}" for revision, models in found.items()]
            raise UserError(
                f"{task}: the data differ, so nothing can be paired:\n" + "\n".join(lines)
            )
    if not any(len(models) > 1 for found in revisions.values() for models in found.values()):
        found = "; ".join(f"{r.model} on {r.task}" for r in results[:5]) or "nothing"
        raise UserError(f"expected two results of one task to compare, found: {found}")


def _labels(results: Sequence[Result], labels: Sequence[str]) -> list[str]:
    """Return the board's labels with the step where a result is a checkpoint's."""
    return [
        label if result.rounded else f"{result.model} {result.revision}"
        for result, label in zip(results, labels, strict=True)
    ]
