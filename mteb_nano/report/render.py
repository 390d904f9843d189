"""Tables -> terminal, Markdown, CSV, JSON."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from mteb_nano.report.boards import Board
from mteb_nano.report.estimates import Resampling, estimate
from mteb_nano.report.records import METRICS, parse_cell
from mteb_nano.report.statistics import Interval
from mteb_nano.report.tables import Standing, Table, Value, standings

UNKNOWN = "\N{EN DASH}"
_NAME_WIDTH = 48  # of a model's name in a terminal; longer ones end in an ellipsis
_PIPE_WIDTH = 250
_FRAME = 3  # characters a column takes beside its text
TEXT_COLUMNS = (
    "model", "A", "B", "setting", "mode", "subset", "query", "source", "agreement",
    "better on the full one", "worse on the full one", "points apart on the full one",
)  # fmt: skip
# An underscore within a word is a plain character, and escaped it would break an address.
_MARKDOWN_SPECIAL = re.compile(r"[\\`*\[\]<>|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def show(value: Value, *, signed: bool = False) -> str:
    """Return a value as text: scores in points (x 100, one digit), an interval in brackets."""
    if value is None:
        return UNKNOWN
    if isinstance(value, Interval):
        text = show(value.value, signed=signed)
        if value.low is None or value.high is None:
            return text
        return f"{text} [{show(value.low, signed=signed)}, {show(value.high, signed=signed)}]"
    if isinstance(value, float):
        # Adding 0 turns -0.0 into 0.0.
        return f"{round(100 * value, 1) + 0:{'+' if signed else ''}.1f}"
    return f"{value}"


def is_signed(column: str) -> bool:
    """Return whether a column holds differences, which are shown with their sign."""
    return " - " in column or column.startswith(("minus", "difference"))


def to_terminal(tables: Iterable[Table], width: int = _PIPE_WIDTH) -> RenderableType:
    """Return tables for a rich console. Names are plain text, never console markup."""
    parts: list[RenderableType] = []
    for table, name_width in _fitted(tables, width):
        # Text everywhere: brackets in a plain string would be read as markup.
        rich_table = RichTable(header_style="bold")
        for column in table.columns:
            is_text = column in TEXT_COLUMNS
            rich_table.add_column(
                Text(column),
                justify="left" if is_text else "right",
                overflow="ellipsis" if is_text else "fold",
                max_width=name_width if is_text else None,
                no_wrap=is_text,
            )
        for row in table.rows:
            shown = zip(table.columns, row, strict=True)
            rich_table.add_row(*(Text(show(v, signed=is_signed(c))) for c, v in shown))
        parts += [Text(table.title, style="bold")] if table.title else []
        parts.append(rich_table)
        parts += [*(Text(note) for note in table.notes), Text("")]
    return Group(*parts)


def _fitted(tables: Iterable[Table], width: int) -> Iterator[tuple[Table, int]]:
    """Yield parts of tables that fit a width, and how wide their names may be."""
    for table in tables:
        name_width = _name_width(table, width)
        for part in _cut(table, width, name_width):
            yield part, name_width


def _cut(table: Table, width: int, name_width: int) -> list[Table]:
    """Return a table cut into parts that fit a width, each with the names of its rows.

    A number that is broken over two lines can be misread, so columns move down instead.
    """
    widths = _widths(table, name_width)
    n_names = _n_names(table)
    room = width - 1 - sum(widths[:n_names])
    parts: list[list[int]] = [[]]
    for i in range(n_names, len(widths)):
        if parts[-1] and sum(widths[j] for j in parts[-1]) + widths[i] > room:
            parts.append([])
        parts[-1].append(i)
    return [
        Table(
            table.title if part is parts[0] else "",
            tuple(table.columns[i] for i in (*range(n_names), *part)),
            tuple(tuple(row[i] for i in (*range(n_names), *part)) for row in table.rows),
            table.notes if part is parts[-1] else (),
        )
        for part in parts
    ]


def _n_names(table: Table) -> int:
    """Return how many columns, from the left, name a row."""
    return 1 + max((i for i, c in enumerate(table.columns) if c in TEXT_COLUMNS), default=-1)


def _widths(table: Table, name_width: int) -> list[int]:
    """Return how wide each column is, with its frame."""
    found = []
    for i, column in enumerate(table.columns):
        texts = [column, *(show(row[i], signed=is_signed(column)) for row in table.rows)]
        longest = max(map(cell_len, texts))
        limit = name_width if column in TEXT_COLUMNS else longest
        found.append(min(longest, limit) + _FRAME)
    return found


def _name_width(table: Table, width: int) -> int:
    """Return how wide a name may be so that the widest number stands beside the names."""
    widths, n_names = _widths(table, _NAME_WIDTH), _n_names(table)
    widest = max(widths[n_names:], default=0)
    if sum(widths[:n_names]) + widest < width:
        return _NAME_WIDTH
    texts = [c for c in table.columns if c in TEXT_COLUMNS]
    others = sum(w for w, c in zip(widths, table.columns[:n_names], strict=False) if c not in texts)
    return max(1, (width - 1 - widest - others) // max(1, len(texts)) - _FRAME)


def print_tables(tables: Iterable[Table], *, console: Console | None = None) -> None:
    """Print tables to the terminal, or unfolded to a pipe or file."""
    console = console or Console()
    if not console.is_terminal:
        console = Console(file=console.file, width=_PIPE_WIDTH, no_color=True)
    console.print(to_terminal(tables, console.width))


def to_text(tables: Iterable[Table]) -> str:
    """Return what `print_tables` prints to a pipe."""
    text = io.StringIO()
    print_tables(tables, console=Console(file=text))
    return text.getvalue()


def to_markdown(tables: Iterable[Table]) -> str:
    """Return GitHub-flavoured Markdown; special characters in names are escaped."""
    blocks = []
    for table in tables:
        lines = [f"**{_markdown(table.title)}**", "", _line(_markdown(c) for c in table.columns)]
        lines.append(_line("---" if c in TEXT_COLUMNS else "---:" for c in table.columns))
        for row in table.rows:
            pairs = zip(table.columns, row, strict=True)
            lines.append(
                _line(
                    # Brackets of our own intervals are no links: nothing in them needs escaping.
                    _markdown(value) if isinstance(value, str) else show(value, signed=is_signed(c))
                    for c, value in pairs
                )
            )
        lines += ["", *(f"{_markdown(note)}\n" for note in table.notes)]
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown(text: str) -> str:
    return _MARKDOWN_SPECIAL.sub(r"\\\g<0>", text)


def to_json(boards: Sequence[Board], problems: Sequence[str], *, resampling: Resampling) -> str:
    """Return every figure at full precision, scores between 0 and 1."""
    document = {
        "level": resampling.level,
        "n_resamples": resampling.n_resamples,
        "seed": resampling.seed,
        "boards": [_board_object(board, resampling) for board in boards],
        "problems": list(problems),
    }
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


def _board_object(board: Board, resampling: Resampling) -> dict[str, Any]:
    return {
        "task": board.task,
        "data_revision": board.data_revision,
        "results": [
            {
                "model": s.result.model,
                "model_revision": s.result.revision,
                "experiment": s.result.experiment,
                "rank": s.rank,
                "mean": asdict(s.mean) if s.mean else None,
                "missing": list(s.missing),
                "seconds": s.result.seconds,
                "subsets": _long_rows(board, [s], resampling),
            }
            for s in standings(board, resampling=resampling)
        ],
    }


LONG_COLUMNS = (
    "task",
    "data_revision",
    "model",
    "model_revision",
    "experiment",
    "subset",
    "language",
    "setting",
    "mode",
    "n_queries",
    *METRICS,
    f"{METRICS[0]}_low",
    f"{METRICS[0]}_high",
)


def _long_rows(
    board: Board, order: Iterable[Standing], resampling: Resampling
) -> list[dict[str, Any]]:
    rows = []
    for s in order:
        for name in [name for name in board.subsets if name in s.result.subsets]:
            subset = s.result.subsets[name]
            found = estimate(s.result, [name], resampling=resampling)
            cell = parse_cell(name) if board.is_ocr else None
            per_query = subset.per_query.get(METRICS[0])
            values = (
                board.task,
                board.data_revision,
                s.result.model,
                s.result.revision,
                s.result.experiment,
                name,
                *(cell or (None, None, None)),
                len(per_query) if per_query else None,
                *(subset.scores.get(metric) for metric in METRICS),
                found and found.low,
                found and found.high,
            )
            rows.append(dict(zip(LONG_COLUMNS, values, strict=True)))
    return rows


def to_csv(boards: Iterable[Board], *, resampling: Resampling) -> str:
    """Return one row per model and subset: a source, or a language, setting and mode."""
    text = io.StringIO()
    writer = csv.DictWriter(text, LONG_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for board in boards:
        order = standings(board, resampling=Resampling(n_resamples=0))
        writer.writerows(_long_rows(board, order, resampling))
    return text.getvalue()
