"""Boards -> tables of plain values, the same for every output format."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mteb_nano.catalog import MODES
from mteb_nano.report.boards import Board
from mteb_nano.report.estimates import Resampling, estimate, estimate_difference
from mteb_nano.report.records import MAIN_METRIC, METRIC_NAMES, METRICS, Result, parse_cell
from mteb_nano.report.statistics import Interval

Value = str | int | float | Interval | None


@dataclass(frozen=True)
class Table:
    """Columns and rows. A float or an interval is a score between 0 and 1, None is "not known".

    Attributes:
        notes: Sentences that a reader needs beside the table.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Standing:
    """One result's place on a board; rank and mean are None when subsets are missing."""

    label: str
    result: Result
    mean: Interval | None
    missing: tuple[str, ...]
    rank: int | None = None


def standings(board: Board, *, resampling: Resampling) -> list[Standing]:
    """Return a board's results, best first; partial results come last and have no rank."""
    found = [
        Standing(
            label,
            result,
            estimate(result, board.subsets, resampling=resampling),
            board.missing(result),
        )
        for label, result in zip(board.labels(), board.results, strict=True)
    ]
    whole = sorted((s for s in found if s.mean), key=lambda s: (-_value(s), s.label))
    values = [_value(s) for s in whole]
    # Equal means share a rank.
    ranked = [
        Standing(s.label, s.result, s.mean, (), rank=values.index(_value(s)) + 1) for s in whole
    ]
    return ranked + sorted((s for s in found if not s.mean), key=lambda s: s.label)


def _value(standing: Standing) -> float:
    return standing.mean.value if standing.mean else 0.0


def make_tables(board: Board, *, resampling: Resampling) -> list[Table]:
    """Return every table of a board; the first one ranks its models."""
    order = standings(board, resampling=resampling)
    notes = _notes(board, order)
    if board.is_ocr:
        tables = [_modes_table(board, order, resampling), _cells_table(board, order, resampling)]
    else:
        tables = [_sources_table(board, order)]
        for prefix, what in (("lang", "query language"), ("format", "query format")):
            tables.append(_groups_table(board, order, prefix, what))
    tables.append(_metrics_table(board, order, resampling))
    first = Table(tables[0].title, tables[0].columns, tables[0].rows, (*tables[0].notes, *notes))
    return [first, *(table for table in tables[1:] if table.rows)]


def _notes(board: Board, order: Sequence[Standing]) -> tuple[str, ...]:
    notes = [
        f"{s.label} is partial, so it has no mean and no rank: {len(s.missing)} of"
        f" {len(board.subsets)} subsets are missing ({_some(s.missing)})."
        for s in order
        if s.missing
    ]
    plain = [s.label for s in order if s.mean and s.mean.low is None]
    if plain:
        notes.append(
            "Interval unavailable, the result file has no usable per-query scores (or one query"
            f" a source): {_some(plain)}."
        )
    return tuple(notes)


def _some(names: Sequence[str], n: int = 8) -> str:
    rest = f" and {len(names) - n} more" if len(names) > n else ""
    return ", ".join(names[:n]) + rest


def _sources_table(board: Board, order: Sequence[Standing]) -> Table:
    rows = tuple(
        (s.rank, s.label, s.mean, *(_score(s.result, subset) for subset in board.subsets))
        for s in order
    )
    title = f"{board.title}: nDCG@10 x 100, 95% interval of the mean"
    return Table(title, ("rank", "model", "mean", *board.subsets), rows)


def _score(result: Result, subset: str, metric: str = MAIN_METRIC) -> float | None:
    return result.subsets[subset].scores.get(metric) if subset in result.subsets else None


def group_means(board: Board, result: Result, prefix: str) -> dict[str, float]:
    """Return group -> mean over the sources that have it, for `lang` or `format` scores."""
    start = f"{MAIN_METRIC}_{prefix}_"
    values: dict[str, list[float]] = {}
    for subset in board.subsets if not board.missing(result) else ():
        for key, value in result.subsets[subset].scores.items():
            if key.startswith(start):
                values.setdefault(key.removeprefix(start), []).append(value)
    return {group: sum(found) / len(found) for group, found in values.items()}


def _groups_table(board: Board, order: Sequence[Standing], prefix: str, what: str) -> Table:
    means = {s.label: group_means(board, s.result, prefix) for s in order}
    groups = sorted({group for found in means.values() for group in found})
    rows = tuple(
        (s.label, *(means[s.label].get(group) for group in groups)) for s in order if means[s.label]
    )
    title = f"{board.title}: nDCG@10 x 100 by {what}, mean over the sources"
    return Table(title, ("model", *groups), rows if groups else ())


def _metrics_table(board: Board, order: Sequence[Standing], resampling: Resampling) -> Table:
    rows = tuple(
        (
            s.label,
            *(
                estimate(s.result, board.subsets, metric=metric, resampling=resampling)
                for metric in METRICS
            ),
        )
        for s in order
        if s.mean
    )
    title = f"{board.title}: all metrics x 100, mean over the {len(board.subsets)} subsets"
    return Table(title, ("model", *METRIC_NAMES.values()), rows)


def cells_of(board: Board, *, setting: str | None = None, mode: str | None = None) -> list[str]:
    """Return an OCR board's subsets of a setting and a mode, or of all of them."""
    cells = [(subset, parse_cell(subset)) for subset in board.subsets]
    return [
        subset
        for subset, cell in cells
        if cell and setting in (None, cell.setting) and mode in (None, cell.mode)
    ]


def distinct(board: Board, what: Callable[..., str]) -> list[str]:
    """Return the languages, settings or modes of an OCR board in order of appearance."""
    cells = [cell for cell in map(parse_cell, board.subsets) if cell]
    return list(dict.fromkeys(what(cell) for cell in cells))


def _modes_table(board: Board, order: Sequence[Standing], resampling: Resampling) -> Table:
    modes = [mode for mode in MODES if cells_of(board, mode=mode)]
    rows = []
    for s in order:
        by_mode = {
            mode: estimate(s.result, cells_of(board, mode=mode), resampling=resampling)
            for mode in modes
        }
        rows.append(
            (
                s.rank,
                s.label,
                s.mean,
                *by_mode.values(),
                _ratio(by_mode.get("ocr"), by_mode.get("clean")),
                _drop(board, s.result, "ocr", resampling=resampling),
            )
        )
    columns = ("rank", "model", "mean of all", *modes, "ocr / clean", "ocr - clean")
    title = f"{board.title}: nDCG@10 x 100 by mode, mean over languages and settings"
    note = "X2Y reads corpus2query. The mean of all subsets counts clean text once per setting."
    return Table(title, columns, tuple(rows), (note,))


def _cells_table(board: Board, order: Sequence[Standing], resampling: Resampling) -> Table:
    languages = distinct(board, lambda cell: cell.language)
    rows = []
    for s in order:
        for setting in distinct(board, lambda cell: cell.setting):
            for mode in [m for m in MODES if cells_of(board, setting=setting, mode=m)]:
                subsets = cells_of(board, setting=setting, mode=mode)
                clean = cells_of(board, setting=setting, mode="clean")
                found = estimate(s.result, subsets, resampling=resampling)
                noisy = mode != "clean"
                rows.append(
                    (
                        s.label,
                        setting,
                        mode,
                        *(_score(s.result, f"{lang}_{setting}_{mode}") for lang in languages),
                        found,
                        _ratio(found, estimate(s.result, clean, resampling=resampling))
                        if noisy
                        else None,
                        _drop(board, s.result, mode, setting=setting, resampling=resampling)
                        if noisy
                        else None,
                    )
                )
    columns = ("model", "setting", "mode", *languages, "mean", "of clean", "minus clean")
    return Table(f"{board.title}: nDCG@10 x 100 by setting and mode", columns, tuple(rows))


def _ratio(value: Interval | None, clean: Interval | None) -> float | None:
    return value.value / clean.value if value and clean and clean.value else None


def _drop(
    board: Board, result: Result, mode: str, *, resampling: Resampling, setting: str | None = None
) -> Interval | None:
    subsets = cells_of(board, setting=setting, mode=mode)
    clean = cells_of(board, setting=setting, mode="clean")
    if not subsets or not clean:
        return None
    return estimate_difference(result, subsets, clean, resampling=resampling)
