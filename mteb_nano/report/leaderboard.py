"""Boards -> one self-contained HTML page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from mteb_nano.catalog import MODES, NANO_VIDORE_V3
from mteb_nano.report import reference
from mteb_nano.report.agreement import LIMIT, USE, Agreement
from mteb_nano.report.boards import Board
from mteb_nano.report.charts import RobustnessChart, robustness_charts
from mteb_nano.report.estimates import Resampling
from mteb_nano.report.records import is_real_data
from mteb_nano.report.render import TEXT_COLUMNS, UNKNOWN, is_signed, show
from mteb_nano.report.statistics import Interval
from mteb_nano.report.tables import Table, Value, make_tables

_PARTS = files("mteb_nano").joinpath("report", "page")
_MAX_CHARTS = 12


@dataclass(frozen=True)
class Section:
    """One board on the page."""

    id: str
    title: str
    notes: tuple[str, ...]
    tables: tuple[Mapping[str, Any], ...]
    charts: tuple[RobustnessChart, ...] = ()


def leaderboard_html(
    boards: Sequence[Board],
    *,
    resampling: Resampling,
    agreement: Agreement,
    title: str = "Document retrieval, nano benchmarks",
) -> str:
    """Return the page; it loads nothing, and its content security policy forbids it to.

    The published means of NanoViDoRe v3 stand as marked rows in the table of the real data, or in
    one of their own when there are no such results.

    Args:
        agreement: Of the nano and the full benchmark, told at the end of the page.
    """
    sections = [
        _section(f"board-{number}", board, resampling) for number, board in enumerate(boards)
    ]
    if not any(map(_takes_published_rows, boards)):
        sections.append(_published_section())
    # Names come from files of others: everything but our own style and script is escaped.
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(_part("page.html.j2"))
    return template.render(
        title=title,
        sections=sections,
        modes=list(MODES),
        has_published=True,
        agreement=_agreement_lines(agreement),
        css=Markup(_part("page.css")),  # noqa: S704
        sortable_js=Markup(_part("sortable.min.js")),  # noqa: S704
        page_js=Markup(_part("page.js")),  # noqa: S704
    )


def _part(name: str) -> str:
    return _PARTS.joinpath(name).read_text(encoding="utf-8")


def _takes_published_rows(board: Board) -> bool:
    return board.task == NANO_VIDORE_V3.name and is_real_data(board.data_revision)


def _section(section_id: str, board: Board, resampling: Resampling) -> Section:
    tables = make_tables(board, resampling=resampling)
    notes = list(tables[0].notes)
    views = [html_table(table) for table in tables]
    if _takes_published_rows(board):
        views[0] = html_table(tables[0], published=reference.published_nano_means())
        notes.append(_published_note())
    charts = robustness_charts(board, limit=_MAX_CHARTS, resampling=resampling)
    return Section(section_id, board.title, tuple(notes), tuple(views), tuple(charts))


def _published_section() -> Section:
    table = Table("NanoViDoRe v3: published means, nDCG@10 x 100", ("rank", "model", "mean"), ())
    view = html_table(table, published=reference.published_nano_means())
    return Section("published", "NanoViDoRe v3, published", (_published_note(),), (view,))


def _published_note() -> str:
    return (
        "Rows marked as published are no results of these files:"
        f" {reference.PUBLISHED_SOURCE}. They have no per-query scores, so no interval or rank."
    )


def html_table(table: Table, *, published: Mapping[str, float] | None = None) -> Mapping[str, Any]:
    """Return a table as the template wants it: text, sort key and drawn interval of each cell.

    Args:
        published: Model -> mean of reference rows, put in their place by the mean.
    """
    rows: list[tuple[tuple[Value, ...], bool]] = [(row, False) for row in table.rows]
    if published:
        width = len(table.columns)
        rows += [
            ((None, model, mean, *[None] * (width - 3)), True) for model, mean in published.items()
        ]
        rows.sort(key=lambda row: -_number(row[0][2]))
    by_column = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    scales = [_scale(values) for values in by_column]
    # Columns with intervals keep their numbers under each other in rows that have none.
    wide = [any(isinstance(v, Interval) for v in values) for values in by_column]
    model_column = table.columns.index("model")
    return {
        "caption": table.title,
        "columns": [
            {"name": c, "is_text": c in TEXT_COLUMNS, "is_wide": is_wide}
            for c, is_wide in zip(table.columns, wide, strict=True)
        ],
        "rows": [
            {
                "model": str(row[model_column]),
                "published": is_published,
                "cells": [
                    {**_cell(value, name, scale), "is_wide": is_wide}
                    for value, name, scale, is_wide in zip(
                        row, table.columns, scales, wide, strict=True
                    )
                ],
            }
            for row, is_published in rows
        ],
    }


def _number(value: Value) -> float:
    if isinstance(value, Interval):
        return value.value
    return value if isinstance(value, float) else -1.0


def _cell(value: Value, column: str, scale: tuple[float, float]) -> dict[str, Any]:
    cell = {
        "text": show(
            value.value if isinstance(value, Interval) else value, signed=is_signed(column)
        ),
        "sort": "" if value is None else value,
        "is_text": column in TEXT_COLUMNS,
        "is_model": column == "model",
        "limits": "",
    }
    if isinstance(value, Interval):
        cell["sort"] = value.value
        if value.low is not None and value.high is not None:
            low, high = (show(x, signed=is_signed(column)) for x in (value.low, value.high))
            start, end = scale
            cell |= {
                "limits": f"[{low}, {high}]",
                "low": _position(value.low, scale),
                "high": _position(value.high, scale),
                "at": _position(value.value, scale),
                "zero": _position(0, scale) if start < 0 < end else None,
            }
    return cell


def _scale(values: Sequence[Value]) -> tuple[float, float]:
    """Return the ends of a column's intervals, so that its drawings share one axis."""
    intervals = [v for v in values if isinstance(v, Interval)]
    lows = [v.low for v in intervals if v.low is not None]
    highs = [v.high for v in intervals if v.high is not None]
    return (min(lows), max(highs)) if lows and highs else (0.0, 1.0)


def _position(value: float, scale: tuple[float, float]) -> float:
    """Return 4 to 96 percent of the drawing's width; the rest is room for the dot."""
    start, end = scale
    share = (value - start) / (end - start) if end > start else 0.5
    return round(4 + 92 * share, 1)


def _agreement_lines(agreement: Agreement) -> list[str]:
    n = len(agreement.points)
    values = ", ".join(
        f"{name} {v.value:.3f}"
        for name, v in (
            ("Spearman", agreement.spearman),
            ("Kendall", agreement.kendall),
            ("Pearson", agreement.pearson),
        )
    )
    summary = (
        f"Over {n} models scored on NanoViDoRe v3 and on the full ViDoRe v3 (8 public tasks):"
        f" {values}; nano scores are {100 * agreement.offset.value:+.1f} points on average;"
        f" {len(agreement.wrong_pairs)} of {n * (n - 1) // 2} pairs change their order"
        " (mteb-nano agreement lists them)."
    )
    source = f"Full scores: {reference.FULL_SOURCE}. {UNKNOWN} means not known."
    return [summary, USE, LIMIT, source]
