"""Systems scored on the same queries, compared pair by pair."""

import fnmatch
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mteb_nano.errors import UserError
from mteb_nano.report.boards import Board
from mteb_nano.report.estimates import QueryScores, Resampling, as_arrays, scores_by_stratum
from mteb_nano.report.records import MAIN_METRIC, METRIC_NAMES, Result
from mteb_nano.report.statistics import Comparison, compare_paired, holm, mean_of_means
from mteb_nano.report.tables import Table

N_MOVED = 10
_MAX_DETAILED = 6  # pairs, i.e. four systems; more would bury the table of all pairs


@dataclass(frozen=True)
class Move:
    """One query's scores under both systems."""

    stratum: str
    query: str
    first: float
    second: float


@dataclass(frozen=True)
class Pair:
    """Two systems on the same queries; differences are second minus first.

    Attributes:
        adjusted_p_value: Holm's, over all pairs of the comparison; None for a single pair.
        strata: Stratum -> the comparison within it.
        moved: The queries that moved most, largest move first.
    """

    first: str
    second: str
    means: tuple[float, float]
    overall: Comparison
    strata: dict[str, Comparison]
    moved: tuple[Move, ...]
    adjusted_p_value: float | None = None


def compare_all(
    board: Board,
    *,
    labels: Sequence[str],
    resampling: Resampling,
    metric: str = MAIN_METRIC,
    subset_patterns: Sequence[str] = ("*",),
) -> list[Pair]:
    """Compare every pair of a board's results, in their order.

    Args:
        subset_patterns: Shell patterns of the subsets to use, e.g. `de_*_ocr`.

    Raises:
        UserError: Results lack per-query scores, subsets or queries that others have.
    """
    subsets = [
        name
        for name in board.subsets
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in subset_patterns)
    ]
    if not subsets:
        raise UserError(
            f"{board.task}: no subset matches {' or '.join(subset_patterns)}; there are"
            f" {', '.join(board.subsets)}"
        )
    used = _common_subsets(board, labels, subsets)
    strata = [
        _strata(label, result, used, metric)
        for label, result in zip(labels, board.results, strict=True)
    ]
    for label, other in zip(labels[1:], strata[1:], strict=True):
        _check_same_queries(board.task, (labels[0], strata[0]), (label, other))
    pairs = [
        _compare((labels[i], strata[i]), (labels[j], strata[j]), resampling)
        for i, j in itertools.combinations(range(len(labels)), 2)
    ]
    if len(pairs) == 1:
        return pairs
    adjusted = holm([pair.overall.p_value for pair in pairs])
    return [replace(pair, adjusted_p_value=p) for pair, p in zip(pairs, adjusted, strict=True)]


def _common_subsets(board: Board, labels: Sequence[str], subsets: Sequence[str]) -> list[str]:
    """Return the subsets that all results have, provided that none has others."""
    has = [{name for name in subsets if name in result.subsets} for result in board.results]
    for label, names in zip(labels, has, strict=True):
        lacking = sorted(set.union(*has) - names)
        if lacking:
            raise UserError(
                f"{board.task}: {label} lacks subsets that others have: {', '.join(lacking[:8])};"
                " compare what all have with --subset PATTERN, or complete the run"
            )
    return [name for name in subsets if name in has[0]]


def _strata(
    label: str, result: Result, subsets: Sequence[str], metric: str
) -> dict[str, QueryScores]:
    strata = scores_by_stratum(result, subsets, metric=metric)
    if strata is None:
        raise UserError(
            f"{label} ({result.path}): no usable per-query {METRIC_NAMES[metric]}, so nothing can"
            " be paired; run the task again with this package installed"
        )
    return strata


def _check_same_queries(
    task: str,
    first: tuple[str, dict[str, QueryScores]],
    second: tuple[str, dict[str, QueryScores]],
) -> None:
    (name_a, a), (name_b, b) = first, second
    for stratum in sorted(a.keys() | b.keys()):
        only_a = sorted(a.get(stratum, {}).keys() - b.get(stratum, {}).keys())
        only_b = sorted(b.get(stratum, {}).keys() - a.get(stratum, {}).keys())
        if only_a or only_b:
            raise UserError(
                f"{task}, {stratum}: not the same queries, so not the same data:"
                f" {len(only_a)} only in {name_a} {only_a[:3]},"
                f" {len(only_b)} only in {name_b} {only_b[:3]}"
            )


def _compare(
    first: tuple[str, dict[str, QueryScores]],
    second: tuple[str, dict[str, QueryScores]],
    resampling: Resampling,
) -> Pair:
    (name_a, a), (name_b, b) = first, second
    arrays_a, arrays_b = as_arrays(a), as_arrays(b)
    options = {"n_resamples": resampling.n_resamples, "seed": resampling.seed}
    moves = [
        Move(stratum, query, score, b[stratum][query])
        for stratum, scores in a.items()
        for query, score in scores.items()
    ]
    moves.sort(key=lambda m: (-abs(m.second - m.first), m.stratum, m.query))
    return Pair(
        first=name_a,
        second=name_b,
        means=(float(mean_of_means(arrays_a)), float(mean_of_means(arrays_b))),
        overall=compare_paired(arrays_a, arrays_b, level=resampling.level, **options),
        strata={
            name: compare_paired([x], [y], level=resampling.level, **options)
            for name, x, y in zip(sorted(a), arrays_a, arrays_b, strict=True)
        },
        moved=tuple(m for m in moves[:N_MOVED] if m.first != m.second),
    )


def verdict(pair: Pair) -> str:
    """Return what the comparison allows to say, in one sentence."""
    p = pair.overall.p_value if pair.adjusted_p_value is None else pair.adjusted_p_value
    better = pair.second if pair.overall.difference.value > 0 else pair.first
    if p < 0.05:  # noqa: PLR2004
        return f"{better} is better (p = {_p(p)})."
    detectable = pair.overall.detectable
    limit = (
        ""
        if detectable is None
        else f"; these queries find differences from {_points(detectable)} on"
    )
    return f"No difference between {pair.first} and {pair.second} is shown (p = {_p(p)}){limit}."


def comparison_tables(board: Board, pairs: Sequence[Pair], *, metric: str) -> list[Table]:
    """Return the tables of a comparison: all pairs, then each pair's strata and moved queries."""
    title = f"{board.title}: {METRIC_NAMES[metric]} x 100, paired by query"
    columns = (
        "A",
        "B",
        "mean A",
        "mean B",
        "difference B - A",
        "p",
        "p (Holm)",
        "detectable",
        "win/tie/loss",
    )
    rows = tuple(
        (
            pair.first,
            pair.second,
            *pair.means,
            pair.overall.difference,
            _p(pair.overall.p_value),
            None if pair.adjusted_p_value is None else _p(pair.adjusted_p_value),
            pair.overall.detectable,
            _counts(pair.overall),
        )
        for pair in pairs
    )
    notes = [*(verdict(pair) for pair in pairs), _precision(board)]
    detailed = pairs if len(pairs) <= _MAX_DETAILED else []
    if not detailed:
        notes.append("Sources and queries of a pair are shown when it is compared alone.")
    tables = [Table(title, columns, rows, tuple(notes))]
    for pair in detailed:
        tables += [_strata_table(pair), _moved_table(pair)]
    return [table for table in tables if table.rows]


def _precision(board: Board) -> str:
    kinds = {result.rounded for result in board.results}
    if kinds == {True}:
        return "Per-query scores are from result files, rounded to 6 digits."
    if kinds == {False}:
        return "Per-query scores are from evaluator files, not rounded."
    return (
        "Per-query scores from result files are rounded to 6 digits, those from evaluators are raw."
    )


def _strata_table(pair: Pair) -> Table:
    rows = tuple(
        (name, found.difference, _p(found.p_value), found.detectable, _counts(found))
        for name, found in pair.strata.items()
    )
    columns = ("source", "difference B - A", "p", "detectable", "win/tie/loss")
    return Table(
        f"A = {pair.first}, B = {pair.second}: within each source or language", columns, rows
    )


def _moved_table(pair: Pair) -> Table:
    rows = tuple((m.stratum, m.query, m.first, m.second, m.second - m.first) for m in pair.moved)
    columns = ("source", "query", "A", "B", "difference B - A")
    title = f"A = {pair.first}, B = {pair.second}: the queries that moved most"
    return Table(title, columns, rows)


def _counts(found: Comparison) -> str:
    return f"{found.wins}/{found.ties}/{found.losses}"


def _p(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.2f}"  # noqa: PLR2004


def _points(value: float) -> str:
    return f"{100 * value:.1f} points"
