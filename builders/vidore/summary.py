"""What a build is about to do and has done, as plain tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from builders.vidore.plan import Plan
from builders.vidore.rounding import apportion
from builders.vidore.sampling import count_picks
from builders.vidore.sources import Source


def print_plan(plan: Plan, sources: Mapping[str, Source], pool_size: int | str | None) -> None:
    """Print the queries of every source, and the negatives that would be mined."""
    positives = {
        name: {page for query_id in plan.query_ids(name) for page in source.qrels[query_id]}
        for name, source in sources.items()
    }
    n_positives = sum(map(len, positives.values()))
    slots = pool_size - n_positives if isinstance(pool_size, int) else -1
    pages = {name: len(source.page_ids) for name, source in sources.items()}
    quotas = apportion(pages, slots) if slots >= 0 else {}
    rows = []
    for name, counts in count_picks(plan.picks).items():
        about = plan.sources[name]
        rows.append(
            [
                name,
                f"{about['pages']:,}",
                f"{about['groups']:,}",
                str(sum(counts["language"].values())),
                _counts(counts["language"]),
                _counts(counts["query_format"]),
                f"{len(positives[name]):,}",
                f"{quotas[name]:,}" if quotas else "-",
            ]
        )
    head = [
        "source",
        "pages",
        "queries",
        "sampled",
        "languages",
        "formats",
        "positives",
        "negatives",
    ]
    print(format_table(head, rows))


def print_pool(manifest: Mapping[str, Any]) -> None:
    """Print the counts of a built dataset."""
    rows = [
        [row["name"], *(f"{row[key]:,}" for key in ("pages", "judged", "negatives", "queries"))]
        for row in manifest["sources"]
    ]
    print(format_table(["source", "pages", "judged", "negatives", "queries"], rows))
    skipped = manifest["near_duplicates"]["skipped"]
    counts = manifest["counts"]
    print(
        f"{counts['corpus']:,} pages, {counts['queries']:,} queries, {counts['qrels']:,} qrels; "
        f"{skipped['pages']:,} pages passed over as copies ({skipped['exact']:,} exact, "
        f"{skipped['containment']:,} by containment, {skipped['empty']:,} without text)"
    )


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with aligned columns; columns of numbers are flush right."""
    table = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    right = [all(row[i][:1].isdigit() or row[i] == "-" for row in rows) for i in range(len(head))]
    lines = [
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in table
    ]
    return "\n".join(lines)


def _counts(counts: Mapping[str, int]) -> str:
    """Return `9 english, 8 french`."""
    return ", ".join(f"{n} {value or '(none)'}" for value, n in counts.items())
