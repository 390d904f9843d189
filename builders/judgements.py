"""Read the two text files that `builders.pages` takes beside the PDFs: queries and qrels."""

import csv
import io
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from mteb_nano.errors import UserError

_MAX_FAULTS = 20


def read_queries(path: Path, language: str) -> list[dict[str, Any]]:
    """Return the rows of the queries.

    Raises:
        UserError: With all faults of the file.
    """
    rows, faults = [], []
    # Not splitlines: JSON may hold U+2028 and its like as they are.
    for number, line in enumerate(_read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            texts = {key: _text(row[key]) for key in ("query_id", "query")}
            texts["language"] = _text(row.get("language") or language)
        except (ValueError, KeyError, TypeError, RecursionError):
            faults.append(f'line {number}: expected {{"query_id": ..., "query": ...}}: {line[:80]}')
            continue
        extra = {key: str(row[key]) for key in ("query_format", "answer") if row.get(key)}
        rows.append({**texts, **extra})
    _raise(path, faults or ([] if rows else ["has no queries"]))
    columns = sorted({key for row in rows for key in row})
    return [{key: row.get(key) for key in columns} for row in rows]


def _text(value: object) -> str:
    """Return a text, or a whole number as one."""
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise TypeError(value)
    return str(value).strip()


def read_qrels(
    path: Path, page_ids: Mapping[str, range], query_ids: Collection[str]
) -> list[dict[str, Any]]:
    """Return the rows of the qrels.

    Args:
        path: The file.
        page_ids: File name -> the ids of its pages.
        query_ids: The queries, each of which needs a row.

    Raises:
        UserError: With all faults of the file.
    """
    grades: dict[tuple[str, int], int] = {}
    faults: list[str] = []
    judged: set[str] = set()
    reader = csv.DictReader(io.StringIO(_read_text(path)), delimiter="\t", skipinitialspace=True)
    missing = {"query_id", "file", "page"} - set(reader.fieldnames or ())
    if missing:
        found = ", ".join(reader.fieldnames or ())
        raise UserError(
            f"{path}: misses the columns {', '.join(sorted(missing))}; found {found} "
            "(columns are separated by tabs)"
        )
    for line in reader:
        where = f"line {reader.line_num}"
        query_id = (line["query_id"] or "").strip()
        judged.add(query_id)
        if query_id not in query_ids:
            faults.append(f"{where}: unknown query {query_id}")
            continue
        pages = page_ids.get((line["file"] or "").strip())
        if pages is None:
            faults.append(f"{where}: no document {line['file']!r}; given: {', '.join(page_ids)}")
            continue
        try:
            page, score = int(line["page"]), int(line.get("score") or 1)
        except (TypeError, ValueError):
            faults.append(f"{where}: page and score must be whole numbers")
            continue
        if not 1 <= page <= len(pages):
            faults.append(f"{where}: {line['file']} has the pages 1 to {len(pages)}, not {page}")
            continue
        key = (query_id, pages[page - 1])
        if score < 1 or key in grades:
            fault = "a second time" if key in grades else f"with the score {score}, wanted 1 or 2"
            faults.append(f"{where}: query {key[0]}, {line['file']} page {page} {fault}")
        grades[key] = score
    rows = [
        {"query_id": q, "corpus_id": page, "score": score} for (q, page), score in grades.items()
    ]
    faults += [f"query {q}: has no relevant page" for q in query_ids if q not in judged]
    _raise(path, faults)
    return rows


def _read_text(path: Path) -> str:
    """Return the content of a file, which must be UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({error})") from error


def _raise(path: Path, faults: Sequence[str]) -> None:
    """Raise one error with the faults of a file."""
    if faults:
        more = [f"and {len(faults) - _MAX_FAULTS} more"] if len(faults) > _MAX_FAULTS else []
        raise UserError(f"{path}:\n  " + "\n  ".join([*faults[:_MAX_FAULTS], *more]))
