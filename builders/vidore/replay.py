"""Rebuild the pool from a published dataset's own queries, and compare everything with it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from builders.vidore.built import Built
from builders.vidore.plan import Plan
from builders.vidore.recipe import PUBLISHED_COUNTS, PUBLISHED_SOURCES
from builders.vidore.selection import count_skips
from builders.vidore.source_tables import natural
from builders.vidore.sources import Source
from builders.vidore.summary import format_table
from mteb_nano.catalog import NANO_VIDORE_V3
from mteb_nano.schema import some

if TYPE_CHECKING:
    from builders.vidore.assemble import Selection


@dataclass(frozen=True)
class Row:
    """One comparison; `published` is None where the published data do not say."""

    what: str
    published: int | None
    rebuilt: int

    @property
    def verdict(self) -> str:
        """Return `same`, `DIFFERS` or `not shown`."""
        if self.published is None:
            return "not shown"
        return "same" if self.published == self.rebuilt else "DIFFERS"


def published_query_ids(built: Built) -> dict[str, list[str]]:
    """Return the source query ids of each source."""
    ids: dict[str, list[str]] = {}
    for query in built.queries:
        ids.setdefault(query["source"], []).append(query["source_query_id"])
    return {name: sorted(found, key=natural) for name, found in sorted(ids.items())}


def compare_counts(
    built: Built,
    plan: Plan,
    selection: "Selection",
    sources: Mapping[str, Source],
    *,
    is_published: bool,
) -> list[Row]:
    """Return every count of the published dataset beside the rebuilt one."""
    judged = {page for _, page in built.qrels}
    n_qrels = sum(len(sources[pick.source].qrels[pick.query_id]) for pick in plan.picks)
    skipped: int | None = None
    if is_published:
        skipped = PUBLISHED_COUNTS["near-duplicates skipped"]
    elif built.manifest:
        skipped = built.manifest.get("near_duplicates", {}).get("skipped", {}).get("pages")
    rows = [
        Row("queries", len(built.queries), len(plan.picks)),
        Row("pages", len(built.pages), len(selection.pages)),
        Row("qrels", len(built.qrels), n_qrels),
        Row("judged pages", len(judged), len(selection.positives)),
        Row("negatives", len(built.pages) - len(judged), len(selection.negatives)),
        Row("near-duplicates skipped", skipped, count_skips(selection.skips)["pages"]),
    ]
    published = Counter(page["source"] for page in built.pages if not page["is_judged"])
    rebuilt = Counter(negative.source for negative in selection.negatives)
    return rows + [
        Row(f"negatives of {name}", published[name], rebuilt[name])
        for name in sorted(selection.quotas)
    ]


def compare_rows(
    built: Built, sources: Mapping[str, Source], plan: Plan, selection: "Selection"
) -> list[str]:
    """Return every page, query, qrel and flag that differs."""
    faults = _query_faults(built, sources)
    published = {(page["source"], page["source_corpus_id"]) for page in built.pages}
    rebuilt = set(selection.pages)
    faults += _difference("pages", published, rebuilt)
    positives = set(selection.positives)
    flagged = {(p["source"], p["source_corpus_id"]) for p in built.pages if p["is_judged"]}
    faults += _difference("judged pages", flagged, positives)
    pages = {page["id"]: page["source_corpus_id"] for page in built.pages}
    queries = {query["id"]: (query["source"], query["source_query_id"]) for query in built.queries}
    theirs = {
        (*queries.get(query, ("?", query)), pages.get(page, "?"), grade)
        for (query, page), grade in built.qrels.items()
    }
    ours = {
        (pick.source, pick.query_id, page, grade)
        for pick in plan.picks
        for page, grade in sources[pick.source].qrels[pick.query_id].items()
    }
    return faults + _difference("qrels", theirs, ours)


def _query_faults(built: Built, sources: Mapping[str, Source]) -> list[str]:
    """Return the published queries that read differently in the sources."""
    faults = []
    for query in built.queries:
        original = sources[query["source"]].queries[query["source_query_id"]]
        language = query.get("language", original.language)
        if (query["text"], language) != (original.text, original.language):
            faults.append(f"query {query['source']} {original.id}: other text or language")
    return faults


def _difference(what: str, published: set[Any], rebuilt: set[Any]) -> list[str]:
    """Return a line for what only one of the two has."""
    lines = []
    for side, only in (("published", published - rebuilt), ("rebuilt", rebuilt - published)):
        if only:
            lines.append(
                f"{len(only)} {what} only {side}: {some(' '.join(map(str, i)) for i in only)}"
            )
    return lines


def print_comparison(rows: Sequence[Row], faults: Iterable[str]) -> bool:
    """Print the table and the differences, and return whether all is the same."""
    table = [
        [
            row.what,
            "-" if row.published is None else f"{row.published:,}",
            f"{row.rebuilt:,}",
            row.verdict,
        ]
        for row in rows
    ]
    print(format_table(["count", "published", "rebuilt", "verdict"], table))
    listed = list(faults)
    for fault in listed:
        print(f"DIFFERS  {fault}")
    return not listed and all(row.verdict != "DIFFERS" for row in rows)


def print_published_counts(shown: bool) -> None:
    """Say whether this run is evidence for the published counts of NanoViDoRe v3."""
    if shown:
        print("This run compares with the published NanoViDoRe v3 itself.")
        return
    quotas = {f"negatives of {name}": row.negatives for name, row in PUBLISHED_SOURCES.items()}
    rows = [[what, f"{n:,}", "not shown"] for what, n in {**PUBLISHED_COUNTS, **quotas}.items()]
    print("\nThe published counts of NanoViDoRe v3 are not shown by this run:")
    print(format_table(["count", "published", "verdict"], rows))
    print(
        "To show them, with the Hub and a GPU:\n"
        f"  python -m builders.vidore replay {NANO_VIDORE_V3.hub_id} --work replay.work"
    )
