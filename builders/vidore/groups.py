"""Which queries are translations of one another: shown from the data, never taken for granted."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from builders.vidore.source_tables import natural
from builders.vidore.sources import Query, Source
from mteb_nano.errors import UserError


@dataclass(frozen=True)
class Group:
    """One query in all the languages of its source.

    Attributes:
        key: The id of its first translation, in the order of ids.
        query_format: Question, instruction or keyword; "" where the source does not say.
        query_ids: Language -> query id.
    """

    key: str
    query_format: str
    query_ids: dict[str, str]


def group_translations(source: Source) -> list[Group]:
    """Return the groups of translations of a source, sorted by key.

    ViDoRe v3 numbers the queries in one block a language, so that a query and its translations
    have the same remainder when divided by the size of a block. That is tried first, then equal
    qrels, format and answer. Either way every group must hold one query in each language of the
    source, with the same qrels, grades and format.

    Raises:
        UserError: Neither way gives such groups; the message names the source and the reason.
    """
    queries = list(source.queries.values())
    languages = sorted({query.language for query in queries})
    if len(languages) == 1:
        return [_group([query]) for query in queries]
    size, rest = divmod(len(queries), len(languages))
    if rest:
        reasons = [f"{len(queries)} queries do not divide by {len(languages)} languages"]
    else:
        reasons = []
        for way, key_of in _ways(source, size):
            groups = _split(queries, key_of)
            fault = _first_fault(source, groups, languages)
            if fault is None:
                return sorted((_group(members) for members in groups), key=lambda g: natural(g.key))
            reasons.append(f"{way}: {fault}")
    raise UserError(
        f"{source.name}: expected each query in {', '.join(languages)}, with the same qrels and "
        "format, so that two translations of one query can be told from two queries; "
        + "; ".join(reasons)
    )


def _ways(source: Source, size: int) -> Iterable[tuple[str, Callable[[Query], Hashable]]]:
    """Yield the ways to tell groups apart, by name, surest first."""
    if all(query_id.isascii() and query_id.isdigit() for query_id in source.queries):
        yield f"by id modulo {size}", lambda query: int(query.id) % size

    def signature(query: Query) -> Hashable:
        qrels = tuple(sorted(source.qrels[query.id].items()))
        return (qrels, query.query_format, query.answer)

    yield "by equal qrels, format and answer", signature


def _split(queries: Sequence[Query], key_of: Callable[[Query], Hashable]) -> list[list[Query]]:
    """Return the queries of each key."""
    groups: dict[Hashable, list[Query]] = defaultdict(list)
    for query in queries:
        groups[key_of(query)].append(query)
    return list(groups.values())


def _first_fault(
    source: Source, groups: Sequence[Sequence[Query]], languages: Sequence[str]
) -> str | None:
    """Return what is wrong with the first bad group, None if all are translations."""
    for members in groups:
        ids = ", ".join(query.id for query in members[:8])
        spoken = sorted(query.language for query in members)
        if spoken != list(languages):
            return f"queries {ids} are in {', '.join(spoken[:8])}"
        if len({query.query_format for query in members}) > 1:
            return f"queries {ids} differ in query_format"
        first = source.qrels[members[0].id]
        if any(source.qrels[query.id] != first for query in members):
            return f"queries {ids} differ in their qrels"
    return None


def _group(members: Sequence[Query]) -> Group:
    """Return the record of one group."""
    ids = sorted((query.id for query in members), key=natural)
    by_language = {query.language: query.id for query in members}
    return Group(ids[0], members[0].query_format, dict(sorted(by_language.items())))
