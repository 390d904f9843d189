"""What a dataset must look like: every fault of its tables at once. Standard library only."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mteb_nano.catalog import Dataset

Columns = Mapping[
    str, Sequence[Any] | None
]  # name -> values, or None where there is no such column
_SHOWN = 3


def source_name(value: str) -> str:
    """Return `hr` for `vidore/vidore_v3_hr`, `vidore_v3_hr` and `hr`; other names as they are."""
    return value.rsplit("/", 1)[-1].removeprefix("vidore_v3_")


def page_faults(corpus: Columns, queries: Columns, qrels: Columns, dataset: Dataset) -> list[str]:
    """Return the faults of a page dataset's tables.

    Args:
        corpus: Columns `id`, `source` and, where read, `text`.
        queries: Columns `id`, `text`, `source` and, where the data have them, `language`.
        qrels: Columns `query`, `document`, `score`.
        dataset: What is expected: sources, grades, query languages and counts.
    """
    faults = [
        *_id_faults(corpus["id"], "corpus"),
        *_id_faults(queries["id"], "queries"),
        *_text_faults(corpus.get("text"), corpus["id"], "corpus", "text", blank_ok=True),
        *_text_faults(queries["text"], queries["id"], "queries", "text", blank_ok=False),
        *_source_faults(corpus["source"], "corpus", dataset),
        *_source_faults(queries["source"], "queries", dataset),
        *_language_faults(queries.get("language"), dataset),
        *_qrel_faults(corpus, queries, qrels, dataset.grades),
        *_crossing_faults(corpus, queries, qrels),
    ]
    counts = {
        "corpus": len(corpus["id"] or ()),
        "queries": len(queries["id"] or ()),
        "qrels": len(qrels["query"] or ()),
        "judged": len({str(d) for d in qrels["document"] or ()}),
    }
    return [*faults, *count_faults(counts, dataset)]


def ocr_faults(
    corpus: Columns, queries: Columns, qrels: Columns, *, grades: Sequence[int]
) -> list[str]:
    """Return the faults of one language and setting of an OCR dataset.

    `clean_text` must say something; `ocr_text` may be empty, for that is what OCR may read.
    """
    faults = []
    for name, table in (("corpus", corpus), ("queries", queries)):
        faults += _id_faults(table["id"], name)
        faults += _text_faults(table["clean_text"], table["id"], name, "clean_text", blank_ok=False)
        faults += _text_faults(table["ocr_text"], table["id"], name, "ocr_text", blank_ok=True)
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


def _id_faults(ids: Sequence[Any] | None, table: str) -> list[str]:
    ids = ids or ()
    wrong = [i for i in ids if not isinstance(i, str | int) or isinstance(i, bool) or i == ""]
    if wrong:
        kinds = some(type(i).__name__ if i != "" else "empty text" for i in wrong)
        return [f"{table}: {len(wrong)} ids are neither text nor whole numbers ({kinds})"]
    if not ids:
        return [f"{table}: has no rows"]
    repeated = [i for i, n in Counter(ids).items() if n > 1]
    faults = [f"{table}: {len(repeated)} ids stand twice: {some(repeated)}"] if repeated else []
    collided = [i for i, n in Counter(map(str, set(ids))).items() if n > 1]
    if collided:
        faults.append(f"{table}: {len(collided)} ids collide as text: {some(collided)}")
    return faults


def _text_faults(
    texts: Sequence[Any] | None,
    ids: Sequence[Any] | None,
    table: str,
    column: str,
    *,
    blank_ok: bool,
) -> list[str]:
    if texts is None:
        return []
    rows = list(zip(texts, ids or (), strict=False))
    wrong = [i for text, i in rows if not isinstance(text, str)]
    faults = (
        [f"{table}: `{column}` is missing in {len(wrong)} rows: {some(wrong)}"] if wrong else []
    )
    blank = [i for text, i in rows if isinstance(text, str) and not text.strip()]
    if blank and not blank_ok:
        faults.append(f"{table}: `{column}` is blank in {len(blank)} rows: {some(blank)}")
    return faults


def _source_faults(names: Sequence[Any] | None, table: str, dataset: Dataset) -> list[str]:
    expected = {source_name(s) for s in dataset.sources}
    found = {source_name(s) if isinstance(s, str) else s for s in names or ()}
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
    unknown = set(languages) - set(dataset.query_languages)
    expected = ", ".join(dataset.query_languages)
    return [f"queries: unknown languages {some(unknown)}; expected {expected}"] if unknown else []


def _qrel_faults(
    corpus: Columns, queries: Columns, qrels: Columns, grades: Sequence[int]
) -> list[str]:
    pairs = list(
        zip(map(str, qrels["query"] or ()), map(str, qrels["document"] or ()), strict=True)
    )
    scores = list(qrels["score"] or ())
    documents, query_ids = (
        {str(i) for i in corpus["id"] or ()},
        [str(i) for i in queries["id"] or ()],
    )
    known = set(query_ids)
    judged = {q for (q, _), s in zip(pairs, scores, strict=True) if isinstance(s, int) and s > 0}
    found = {
        "name unknown queries": [q for q, _ in pairs if q not in known],
        "name unknown documents": [d for _, d in pairs if d not in documents],
        "stand twice": [f"{q} {d}" for (q, d), n in Counter(pairs).items() if n > 1],
        f"have a grade other than {', '.join(map(str, grades))}": [
            f"{s!r} ({q} {d})" for (q, d), s in zip(pairs, scores, strict=True) if s not in grades
        ],
    }
    faults = [f"qrels: {len(rows)} {what}: {some(rows)}" for what, rows in found.items() if rows]
    if lone := [q for q in query_ids if q not in judged]:
        faults.append(f"queries: {len(lone)} have no relevant document: {some(lone)}")
    return faults


def _crossing_faults(corpus: Columns, queries: Columns, qrels: Columns) -> list[str]:
    """Return a line when qrels join a query to a document of another source."""
    source_of = dict(zip(map(str, corpus["id"] or ()), corpus["source"] or (), strict=True))
    asked_in = dict(zip(map(str, queries["id"] or ()), queries["source"] or (), strict=True))
    crossing = [
        f"{q} {d}"
        for q, d in zip(
            map(str, qrels["query"] or ()), map(str, qrels["document"] or ()), strict=True
        )
        if q in asked_in
        and d in source_of
        and source_name(str(asked_in[q])) != source_name(str(source_of[d]))
    ]
    return (
        [f"qrels: {len(crossing)} join a query to a document of another source: {some(crossing)}"]
        if crossing
        else []
    )
