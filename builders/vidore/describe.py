"""What the manifest says of a build: every parameter, count and origin; no times, no hosts."""

from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from builders.vidore.neardup import NGRAM_WORDS
from builders.vidore.plan import Plan
from builders.vidore.recipe import Recipe
from builders.vidore.sampling import count_picks
from builders.vidore.selection import count_skips
from builders.vidore.sources import Source

if TYPE_CHECKING:
    from builders.vidore.assemble import Selection

VERSION = "1"  # of the layout and the rules; raise it when the same input gives other bytes
_TOOLS = ("networkx", "numpy", "pyarrow", "scipy", "xxhash")


def describe_build(
    name: str,
    sources: Mapping[str, Source],
    plan: Plan,
    selection: "Selection",
    *,
    recipe: Recipe,
    miner: Mapping[str, Any],
    qrels: Mapping[tuple[str, str], int],
) -> dict[str, Any]:
    """Return the manifest without `files`.

    `name` is the task's, `miner` what the candidates were made with, and `qrels` is
    (query, page) -> grade of the built dataset.
    """
    licenses = _licenses(sources, selection)
    return {
        "name": name,
        "kind": "page-retrieval",
        "version": VERSION,
        "license": licenses[0] if len(licenses) == 1 else "other",
        "licenses": licenses,
        "sources": _source_rows(plan, selection),
        "query_languages": sorted({pick.language for pick in plan.picks}),
        "grades": sorted(set(qrels.values())),
        "counts": {
            "corpus": len(selection.pages),
            "queries": len(plan.picks),
            "qrels": len(qrels),
            "judged": len(selection.positives),
        },
        "near_duplicates": {
            "skipped": count_skips(selection.skips),
            "pages_without_text": dict(selection.empty_pages),
        },
        "recipe": {
            "seed": plan.seed,
            "queries_per_source": plan.queries_per_source,
            "pool_size": recipe.pool_size,
            "top_k": recipe.top_k,
            "empty_pages": recipe.empty_pages,
            "ngram_words": NGRAM_WORDS,
            "containment": "2*shared >= min",
            "source_order": sorted(sources),
            "miner": dict(miner),
        },
        "made_from": {
            source: {key: about[key] for key in ("origin", "revision", "fingerprint")}
            for source, about in plan.sources.items()
        },
        "tools": {tool: version(tool) for tool in _TOOLS},
    }


def _source_rows(plan: Plan, selection: "Selection") -> list[dict[str, Any]]:
    """Return one row a source: what it was, and what it gives to the pool."""
    picked = count_picks(plan.picks)
    judged = Counter(source for source, _ in selection.positives)
    negatives = Counter(negative.source for negative in selection.negatives)
    return [
        {
            "name": name,
            "pages": judged[name] + negatives[name],
            "queries": sum(picked[name]["language"].values()),
            "judged": judged[name],
            "negatives": negatives[name],
            "languages": picked[name]["language"],
            "query_formats": picked[name]["query_format"],
            "of": {key: about[key] for key in ("pages", "groups", "languages", "query_formats")},
        }
        for name, about in sorted(plan.sources.items())
    ]


def _licenses(sources: Mapping[str, Source], selection: "Selection") -> list[str]:
    """Return the licences of the pages in the pool; "unknown" where a source names none."""
    found = set()
    for source, page_id in selection.pages:
        details = sources[source].details[sources[source].row_of[page_id]]
        found.add(details["license"] or "unknown")
    return sorted(found)
