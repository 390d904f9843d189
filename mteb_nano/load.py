"""The tables of a dataset -> what mteb's retrieval tasks evaluate; each file is opened once."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from mteb_nano import catalog, locate, read, schema, tables
from mteb_nano.catalog import Dataset
from mteb_nano.errors import UserError
from mteb_nano.languages import to_iso_639_3
from mteb_nano.read import PageMode

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Subset:
    """One subset of a task.

    Attributes:
        corpus: Columns `id` and `text` and/or `image`; one object per distinct content, so that
            `corpus_key` alone tells whether two subsets share it.
        queries: Columns `id` and `text`.
        qrels: Query id -> document id -> grade.
        corpus_key: Equal for equal corpora.
        groups: Query id -> the groups that it is also scored in, such as `lang_fra`.
    """

    corpus: datasets.Dataset
    queries: datasets.Dataset
    qrels: dict[str, dict[str, int]]
    corpus_key: str
    groups: dict[str, tuple[str, ...]]


def load_pages(dataset: Dataset, mode: PageMode, subsets: Sequence[str]) -> dict[str, Subset]:
    """Return the subsets of a page dataset, all with one corpus.

    Raises:
        UserError: The data cannot be had or are at fault; all faults are named.
    """
    folder = locate.fetch(dataset)
    expected = read.as_found(dataset, folder)
    pages = read.read_pages(folder, mode)
    raise_page_faults(folder, pages, _required(dataset, expected))
    counts = schema.page_counts(pages.corpus, pages.queries, pages.qrels)
    _warn(dataset.name, schema.count_faults(counts, expected))
    _warn(dataset.name, _ungrouped(pages.queries))
    ids = [str(i) for i in pages.queries["id"]]
    source_of = dict(zip(ids, map(schema.source_name, pages.queries["source"]), strict=True))
    grades = _grades(pages.qrels)
    groups = query_groups(pages.queries)
    found = {}
    for subset in subsets:
        mine = {q: grades[q] for q in ids if source_of[q] == schema.source_name(subset)}
        found[subset] = Subset(
            corpus=pages.documents,
            queries=_texts(pages.queries, "text", mine),
            qrels=mine,
            corpus_key="pages",
            groups={q: groups[q] for q in mine},
        )
    return found


def raise_page_faults(folder: Path, pages: read.Pages, dataset: Dataset) -> None:
    """Raise a `UserError` that names every fault of a page dataset, if there is one."""
    files = [file for part in catalog.PARTS for file in tables.find_files(folder, part)]
    faults = read.manifest_faults(folder, files)
    faults += schema.page_faults(pages.corpus, pages.queries, pages.qrels, dataset)
    if "image" in pages.documents.column_names:
        faults += read.corpus_image_faults(pages.documents)
    elif len(pages.documents) and not any(text.strip() for text in pages.documents["text"]):
        faults.append("no page has text (scans?), so a model that reads text has nothing to search")
    read.raise_faults(folder, faults)


def load_ocr(dataset: Dataset, subsets: Sequence[str]) -> dict[str, Subset]:
    """Return subsets `{lang}_{setting}_{mode}` of an OCR dataset.

    Texts that are equal in several settings become one corpus.

    Raises:
        UserError: The data cannot be had or are at fault; all faults are named.
    """
    pairs = list(dict.fromkeys(subset.rsplit("_", 1)[0] for subset in subsets))
    folder = locate.fetch(dataset, [f"*{pair}_*" for pair in pairs])
    expected = read.as_found(dataset, folder)
    parts, faults = read.read_ocr(folder, _required(dataset, expected), pairs)
    configs = [f"{pair}_{part}" for pair in parts for part in catalog.PARTS]
    files = [file for config in configs for file in tables.find_files(folder, config)]
    read.raise_faults(folder, [*read.manifest_faults(folder, files), *faults])
    for pair, read_parts in parts.items():
        _warn(dataset.name, schema.count_faults(read.ocr_counts(pair, *read_parts), expected))
    corpora: dict[str, datasets.Dataset] = {}
    found = {}
    for subset in subsets:
        pair, mode = subset.rsplit("_", 1)
        corpus_column, query_column = catalog.MODES[mode]
        corpus, queries, qrels = parts[pair]
        key = content_key(corpus["id"], corpus[corpus_column])
        if key not in corpora:
            corpora[key] = _texts(corpus, corpus_column)
        found[subset] = Subset(
            corpus=corpora[key],
            queries=_texts(queries, query_column),
            qrels=_grades(qrels),
            corpus_key=key,
            groups={},
        )
    return found


def _required(dataset: Dataset, expected: Dataset) -> Dataset:
    """Return what the data must be; of the published repository itself, the counts need not hold.

    Its card may be behind its data. Whoever runs it gets a score with the commit, and a warning;
    `mteb-nano check` still calls it a fault.
    """
    is_published_repository = locate.place_of(dataset).hub_id == dataset.hub_id is not None
    return replace(expected, counts={}) if is_published_repository else expected


def _ungrouped(queries: Mapping[str, Any]) -> list[str]:
    """Return a line for each column without which a kind of group scores is left out."""
    kinds = {"language": "lang", "format": "format"}
    return [
        f"the queries have no {column}, so there are no scores ndcg_at_10_{kind}_*"
        for column, kind in kinds.items()
        if not any(queries.get(column) or ())
    ]


def _warn(name: str, lines: Sequence[str]) -> None:
    for line in lines:
        log.warning("%s: %s", name, line)


def query_groups(queries: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return query id -> `lang_fra`, `format_keyword` and the like, as far as the data tell."""
    ids = [str(i) for i in queries["id"]]
    none = [None] * len(ids)
    languages, formats = queries.get("language") or none, queries.get("format") or none
    return {
        query: (
            *([f"lang_{to_iso_639_3(language)}"] if language else []),
            *([f"format_{form}"] if form else []),
        )
        for query, language, form in zip(ids, languages, formats, strict=True)
    }


def content_key(ids: Sequence[Any], texts: Sequence[str]) -> str:
    """Return a digest of ids and texts in their order."""
    digest = hashlib.blake2b(digest_size=16)
    for key, text in zip(ids, texts, strict=True):
        for piece in (str(key).encode(), text.encode()):
            digest.update(len(piece).to_bytes(8))
            digest.update(piece)
    return digest.hexdigest()


def _grades(qrels: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for query, document, score in zip(
        qrels["query"], qrels["document"], qrels["score"], strict=True
    ):
        grades.setdefault(str(query), {})[str(document)] = int(score)
    return grades


def _texts(
    table: Mapping[str, Any], column: str, only: Mapping[str, Any] | None = None
) -> datasets.Dataset:
    rows = zip(map(str, table["id"]), table[column], strict=True)
    kept = [(i, text) for i, text in rows if only is None or i in only]
    return _dataset({"id": [i for i, _ in kept], "text": [text for _, text in kept]})


def _dataset(columns: Mapping[str, Any]) -> datasets.Dataset:
    # A fingerprint of our own: the library would hash the pickled texts instead.
    key = content_key(columns["id"], columns["text"])
    return datasets.Dataset(pa.table(dict(columns)), fingerprint=key)


def raise_for_images(name: str, corpus: datasets.Dataset, error: Exception) -> None:
    """Raise a `UserError` that names the pages at fault, if the error came from decoding one."""
    if "image" not in corpus.column_names:
        return
    faults = read.corpus_image_faults(corpus, decode=True)
    if faults:
        raise UserError("\n".join([f"{name}: a page image cannot be used", *faults])) from error
