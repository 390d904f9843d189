"""What an evaluator asks: distinct corpora, the queries put to each, and the relevant documents."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import datasets

from mteb_nano import catalog, locate, manifest
from mteb_nano.catalog import Dataset
from mteb_nano.errors import UserError
from mteb_nano.load import Subset

SAMPLE = "sample"
_FOLDERS = {"page-retrieval": "nano_vidore_v3", "ocr-retrieval": "ocr_mldr"}
_SHOWN = 5  # names in a message


@dataclass(frozen=True)
class Asked:
    """The queries that one subset puts to a corpus."""

    subset: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Search:
    """One corpus, and all the queries that are put to it."""

    documents: datasets.Dataset
    asked: tuple[Asked, ...]


@dataclass(frozen=True)
class Material:
    """All that is searched, and how it is judged."""

    searches: tuple[Search, ...]
    qrels: Mapping[str, Mapping[str, Mapping[str, int]]]  # subset -> query -> document -> grade


def find_dataset(published: Dataset, data: str | Path | None) -> Dataset:
    """Return the dataset that an evaluator reads.

    Args:
        published: What is meant when nothing else is given.
        data: None, `"sample"` for the embedded sample, or a dataset folder.

    Raises:
        UserError: There is no such folder, or it holds data of the other kind.
    """
    if data is None:
        return published
    folder = locate.SAMPLE / _FOLDERS[published.kind] if data == SAMPLE else Path(data)
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise UserError(f"data={str(data)!r}: expected a dataset folder or {SAMPLE!r}; no folder")
    if not (folder / manifest.FILE_NAME).is_file():
        return replace(published, folder=folder, hub_id=None)  # a copy of the Hub repository
    found = catalog.from_manifest(manifest.read_manifest(folder), folder)
    if found.kind != published.kind:
        raise UserError(f"{folder}: holds {found.kind} data, {published.kind} data are needed")
    return found


def choose(wanted: Iterable[str] | None, known: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the wanted names in the order of the known ones; all when None.

    Raises:
        UserError: A name is unknown, or none is wanted.
    """
    if wanted is None:
        return tuple(known)
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        got = ", ".join(map(repr, unknown)) or "none"
        raise UserError(f"{what}: unknown {got}; there are {', '.join(known)}")
    return tuple(name for name in known if name in names)


def only_languages(subsets: Mapping[str, Subset], codes: Collection[str]) -> dict[str, Subset]:
    """Return the subsets with the queries in these languages only; ISO 639-3 codes.

    Raises:
        UserError: The data do not tell languages, or have none of one of these.
    """
    groups = {g for s in subsets.values() for names in s.groups.values() for g in names}
    known = sorted(g.removeprefix("lang_") for g in groups if g.startswith("lang_"))
    if not known:
        raise UserError("languages: the queries have no `language` column to choose by")
    choose(codes, known, "languages")
    wanted = {f"lang_{code}" for code in codes}
    kept = {
        name: [query for query in subset.qrels if wanted & set(subset.groups.get(query, ()))]
        for name, subset in subsets.items()
    }
    return {name: _keep_queries(subsets[name], ids) for name, ids in kept.items() if ids}


def at_most_queries(subsets: Mapping[str, Subset], n: int) -> dict[str, Subset]:
    """Return the subsets with at most n queries each, the same ones in every run."""
    return {
        name: _keep_queries(subset, sorted(subset.qrels, key=_lot)[:n])
        for name, subset in subsets.items()
    }


def at_most_documents(
    subsets: Mapping[str, Subset], n: int, *, option: str = "max_pages"
) -> dict[str, Subset]:
    """Return the subsets over corpora of at most n documents: all relevant ones, then others.

    Raises:
        UserError: More than n documents are relevant to the queries.
    """
    corpora = {subset.corpus_key: subset.corpus for subset in subsets.values()}
    for key, corpus in corpora.items():
        mine = [subset for subset in subsets.values() if subset.corpus_key == key]
        corpora[key] = _fewer_documents(corpus, mine, n, option)
    return {name: replace(s, corpus=corpora[s.corpus_key]) for name, s in subsets.items()}


def _fewer_documents(
    corpus: datasets.Dataset, subsets: Sequence[Subset], n: int, option: str
) -> datasets.Dataset:
    judged = {document for s in subsets for grades in s.qrels.values() for document in grades}
    if len(judged) > n:
        queries = sum(len(subset.qrels) for subset in subsets)
        raise UserError(
            f"{option}={n}: the {queries} queries have {len(judged)} judged documents, which must "
            f"stay; give at least {len(judged)}, or fewer queries (max_queries)"
        )
    ids = list(corpus["id"])
    others = sorted((i for i in ids if i not in judged), key=_lot)
    kept = judged | set(others[: n - len(judged)])
    rows = [row for row, i in enumerate(ids) if i in kept]
    return cast("datasets.Dataset", corpus.select(rows))


def _lot(name: str) -> bytes:
    """Return a sort key that is random, and the same everywhere."""
    return hashlib.blake2b(name.encode(), digest_size=8).digest()


def _keep_queries(subset: Subset, ids: Collection[str]) -> Subset:
    kept = set(ids)
    rows = [row for row, i in enumerate(subset.queries["id"]) if i in kept]
    qrels = {query: grades for query, grades in subset.qrels.items() if query in kept}
    queries = cast("datasets.Dataset", subset.queries.select(rows))
    return replace(subset, queries=queries, qrels=qrels)


def gather(subsets: Mapping[str, Subset]) -> Material:
    """Return subsets grouped by corpus.

    Raises:
        UserError: There is no query.
    """
    if not any(subset.qrels for subset in subsets.values()):
        raise UserError("no query is left to ask: choose more sources or languages")
    asked: dict[str, list[Asked]] = {}
    corpora: dict[str, datasets.Dataset] = {}
    for name, subset in subsets.items():
        # As mteb: a query without relevant documents is not asked.
        pairs = zip(subset.queries["id"], subset.queries["text"], strict=True)
        rows = {query: text for query, text in pairs if subset.qrels.get(query)}
        if not rows:
            continue
        one = Asked(name, tuple(rows), tuple(rows.values()))
        asked.setdefault(subset.corpus_key, []).append(one)
        corpora[subset.corpus_key] = subset.corpus
    return Material(
        searches=tuple(Search(corpora[key], tuple(parts)) for key, parts in asked.items()),
        qrels={name: subset.qrels for name, subset in subsets.items()},
    )


def part_name(name: str, parts: Mapping[str, object]) -> str:
    """Return the name of an evaluation, which tells a part from the whole.

    `NanoViDoReV3` stays; with 100 pages it becomes `NanoViDoReV3_part-100pages`. Only characters
    that TensorBoard leaves alone are used.
    """
    told = [_told(what, value) for what, value in parts.items() if value is not None]
    return name if not told else f"{name}_part-{'-'.join(told)}"


def _told(what: str, value: object) -> str:
    if isinstance(value, int):
        return f"{value}{what}"
    names = [str(name) for name in value]  # type: ignore[attr-defined]
    if len(names) <= _SHOWN:
        return "-".join(names)
    digest = hashlib.blake2b("\n".join(names).encode(), digest_size=3).hexdigest()
    return f"{len(names)}{what}{digest}"
