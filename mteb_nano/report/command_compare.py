"""`mteb-nano compare`."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mteb_nano.errors import UserError
from mteb_nano.report.console import resamples, seed, tell_problems, write_tables, write_text
from mteb_nano.report.records import MAIN_METRIC, METRICS, Result
from mteb_nano.report.statistics import N_RESAMPLES

if TYPE_CHECKING:
    from mteb_nano.report.boards import Board
    from mteb_nano.report.compare import Pair

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
    from mteb_nano.report.boards import make_boards
    from mteb_nano.report.compare import comparison_tables

    results, problems = _systems(args.systems, args.task, quiet=args.quiet)
    tell_problems(problems, quiet=args.quiet)
    _check_same_data(results)
    compared = [
        (board, _compare(board, args)) for board in make_boards(results) if len(board.results) > 1
    ]
    if args.format == "json":
        document = [_as_object(board, pairs, args.metric) for board, pairs in compared]
        write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", args.out)
        return 0
    tables = [
        table
        for board, pairs in compared
        for table in comparison_tables(board, pairs, metric=args.metric)
    ]
    write_tables(tables, args.format, args.out)
    return 0


def _compare(board: "Board", args: argparse.Namespace) -> "list[Pair]":
    from mteb_nano.report.compare import compare_all
    from mteb_nano.report.estimates import Resampling

    return compare_all(
        board,
        labels=_labels(board),
        resampling=Resampling(n_resamples=args.resamples, seed=args.seed),
        metric=args.metric,
        subset_patterns=args.subset or ("*",),
    )


def _as_object(board: "Board", pairs: "Sequence[Pair]", metric: str) -> dict[str, Any]:
    return {
        "task": board.task,
        "data_revision": board.data_revision,
        "metric": metric,
        "rounded": sorted({result.rounded for result in board.results}),
        "pairs": [asdict(pair) for pair in pairs],
    }


def _systems(
    arguments: Sequence[str], tasks: Sequence[str] | None, *, quiet: bool
) -> tuple[list[Result], list[str]]:
    """Return the results in the order of the arguments, and what cannot be used."""
    from mteb_nano.report.evaluator_files import is_evaluator_file, split_step
    from mteb_nano.report.reading import read_results

    results: dict[tuple[str, ...], Result] = {}
    problems: list[str] = []
    for argument in arguments:
        path, step = split_step(argument)
        if is_evaluator_file(path):
            found = _checkpoints(path, step, alone=len(arguments) == 1)
            found = [result for result in found if not tasks or result.task in tasks]
        else:
            reading = read_results([path], tasks=tasks, progress=not quiet)
            found, problems = reading.results, problems + reading.problems
        # Two runs of one model can be compared, one file with itself not.
        results |= {(*result.identity, str(result.path.resolve())): result for result in found}
    return list(results.values()), problems


def _checkpoints(path: Path, step: int | None, *, alone: bool) -> list[Result]:
    """Return one step's results: the given one or the last; first and last of a lone file."""
    from mteb_nano.report.evaluator_files import read_evaluator_file

    found = read_evaluator_file(path, step=step)
    wanted = {found[-1].revision}
    if alone and step is None:
        wanted.add(found[0].revision)
    return [result for result in found if result.revision in wanted]


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


def _labels(board: "Board") -> list[str]:
    """Return the board's labels, with a checkpoint's step, and the path where two are equal."""
    labels = [
        label if result.rounded else f"{result.model} {result.revision}"
        for result, label in zip(board.results, board.labels(), strict=True)
    ]
    return [
        f"{label} ({result.path})" if labels.count(label) > 1 else label
        for result, label in zip(board.results, labels, strict=True)
    ]
