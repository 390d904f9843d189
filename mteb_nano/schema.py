"""What a dataset must look like: every fault of its tables at once. Standard library only."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mteb_nano.catalog import Dataset
from mteb_nano.manifest import source_name

# Name -> values, or None where there is no such column. Foreign data: values of any type.
Columns = Mapping[str, Sequence[Any] | None]
_SHOWN = 3


def page_faults(corpus: Columns, queries: Columns, qrels: Columns, dataset: Dataset) -> list[str]:
    """Return the faults of a page dataset's tables.

    Args:
        corpus: Columns `id`, `source` and, where read, `text`.
        queries: Columns `id`, `text`, `source` and, where the data have them, `language`, `format`.
        qrels: Columns `query`, `document`, `score`.
        dataset: What is expected: sources, grades, query languages and counts.
    """
    faults = [
        *_id_faults(corpus["id"], "corpus"),
        *_id_faults(queries["id"], "queries"),
        *_text_faults(corpus, "corpus", "text", blank_ok=True),
        *_text_faults(queries, "queries", "text", blank_ok=False),
        *_text_faults(queries, "queries", "language", blank_ok=False),
        # A page dataset may leave a query's format open, but not give it as something else.
        *_text_faults(queries, "queries", "format", blank_ok=True, none_ok=True),
        *_source_faults(corpus["source"], "corpus", dataset),
        *_source_faults(queries["source"], "queries", dataset),
        *_language_faults(queries.get("language"), dataset),
        *_qrel_faults(corpus, queries, qrels, dataset.grades),
        *_crossing_faults(corpus, queries, qrels),
    ]
    return [*faults, *count_faults(page_counts(corpus, queries, qrels), dataset)]


def page_counts(corpus: Columns, queries: Columns, qrels: Columns) -> dict[str, int]:
    """Return the rows of each table, and how many pages are judged."""
    return {
        "corpus": len(corpus["id"] or ()),
        "queries": len(queries["id"] or ()),
        "qrels": len(qrels["query"] or ()),
        "judged": len(set(_as_text(qrels["document"]))),
    }


def ocr_faults(
    corpus: Columns, queries: Columns, qrels: Columns, *, grades: Sequence[int]
) -> list[str]:
    """Return the faults of one language and setting of an OCR dataset.

    `clean_text` must say something; `ocr_text` may be empty, for that is what OCR may read.
    """
    faults = []
    for name, table in (("corpus", corpus), ("queries", queries)):
        faults += _id_faults(table["id"], name)
        faults += _text_faults(table, name, "clean_text", blank_ok=False)
        faults += _text_faults(table, name, "ocr_text", blank_ok=True)
    return faults + _qrel_faults(corpus, queries, qrels, grades)


def count_faults(counts: Mapping[str, int], dataset: Dataset) -> list[str]:
    """Return one line for each count that is not the declared or published one."""
    said_by = "the published dataset has" if dataset.published else "the manifest says"
    faults = []
    for key, expected in dataset.counts.items():
        if key not in counts:
            continue
        about = dataset.about.get(key, 0.0)
        if abs(counts[key] - expected) > about * expected:
            tilde = "about " if about else ""
            faults.append(f"{key}: {counts[key]:,}, {said_by} {tilde}{expected:,}")
    return faults


def some(items: Iterable[object]) -> str:
    """Return the first items, in order, and how many more there are."""
    ordered = sorted({str(item) for item in items})
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return ", ".join(ordered[:_SHOWN]) + more


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number; 2.0 is one, True is not."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _as_text(values: Sequence[Any] | None) -> list[str]:
    return [str(value) for value in values or ()]


def _line(table: str, what: str, rows: Sequence[object]) -> list[str]:
    """Return a fault's line in a list, or an empty list when no row has the fault."""
    return [f"{table}: {len(rows)} {what}: {some(rows)}"] if rows else []


def _id_faults(ids: Sequence[Any] | None, table: str) -> list[str]:
    if not ids:
        return [f"{table}: has no rows"]
    wrong = [i for i in ids if not _is_id(i)]
    if wrong:
        kinds = some("empty text" if i == "" else type(i).__name__ for i in wrong)
        return [f"{table}: {len(wrong)} ids are neither text nor whole numbers ({kinds})"]
    repeated = [i for i, n in Counter(ids).items() if n > 1]
    collided = [i for i, n in Counter(map(str, set(ids))).items() if n > 1]
    return [
        *_line(table, "ids stand twice", repeated),
        *_line(table, "ids collide as text", collided),
    ]


def _text_faults(
    table: Columns, name: str, column: str, *, blank_ok: bool, none_ok: bool = False
) -> list[str]:
    texts = table.get(column)
    if texts is None:
        return []
    rows = list(zip(texts, table["id"] or (), strict=True))
    missing = [i for text, i in rows if text is None and not none_ok]
    other = [i for text, i in rows if text is not None and not isinstance(text, str)]
    blank = [i for text, i in rows if isinstance(text, str) and not text.strip() and not blank_ok]
    return [
        *_line(name, f"rows lack `{column}`", missing),
        *_line(name, f"rows have a `{column}` that is no text", other),
        *_line(name, f"rows have a blank `{column}`", blank),
    ]


def _source_faults(names: Sequence[Any] | None, table: str, dataset: Dataset) -> list[str]:
    expected = {source_name(s) for s in dataset.sources}
    found = {source_name(s) if isinstance(s, str) else f"no text ({s!r})" for s in names or ()}
    faults = []
    if unknown := found - expected:
        faults.append(
            f"{table}: unknown sources {some(unknown)}; expected {', '.join(sorted(expected))}"
        )
    if missing := expected - found:
        faults.append(f"{table}: no rows of the sources {', '.join(sorted(missing))}")
    return faults


def _language_faults(languages: Sequence[Any] | None, dataset: Dataset) -> list[str]:
    if languages is None or not dataset.query_languages:
        return []
    unknown = {v for v in languages if isinstance(v, str)} - set(dataset.query_languages)
    expected = ", ".join(dataset.query_languages)
    return [f"queries: unknown languages {some(unknown)}; expected {expected}"] if unknown else []


def _qrel_faults(
    corpus: Columns, queries: Columns, qrels: Columns, grades: Sequence[int]
) -> list[str]:
    asked, named = _as_text(qrels["query"]), _as_text(qrels["document"])
    rows = list(zip(asked, named, qrels["score"] or (), strict=True))
    known, documents = set(_as_text(queries["id"])), set(_as_text(corpus["id"]))
    relevant = {query for query, _, score in rows if is_whole(score) and score > 0}
    other = [f"{s!r} ({q} {d})" for q, d, s in rows if not is_whole(s) or s not in grades]
    twice = [f"{q} {d}" for (q, d), n in Counter((q, d) for q, d, _ in rows).items() if n > 1]
    lone = [query for query in _as_text(queries["id"]) if query not in relevant]
    return [
        *_line("qrels", "name unknown queries", [q for q in asked if q not in known]),
        *_line("qrels", "name unknown documents", [d for d in named if d not in documents]),
        *_line("qrels", "stand twice", twice),
        *_line("qrels", f"have a grade other than {', '.join(map(str, grades))}", other),
        *_line("queries", "have no relevant document", lone),
    ]


def _crossing_faults(corpus: Columns, queries: Columns, qrels: Columns) -> list[str]:
    """Return a line when qrels join a query to a document of another source."""
    source_of = dict(zip(_as_text(corpus["id"]), _as_text(corpus["source"]), strict=True))
    asked_in = dict(zip(_as_text(queries["id"]), _as_text(queries["source"]), strict=True))
    crossing = [
        f"{q} {d}"
        for q, d in zip(_as_text(qrels["query"]), _as_text(qrels["document"]), strict=True)
        if q in asked_in
        and d in source_of
        and source_name(asked_in[q]) != source_name(source_of[d])
    ]
    return _line("qrels", "join a query to a document of another source", crossing)
