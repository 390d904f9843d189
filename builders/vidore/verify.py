"""Check a built folder against every rule of the card, from its data and manifest alone."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import pyarrow as pa

from builders.vidore.built import Built, read_built
from builders.vidore.neardup import find_near_copies
from builders.vidore.recipe import PUBLISHED_SOURCES
from builders.vidore.rounding import apportion
from mteb_nano import catalog, read
from mteb_nano.errors import UserError
from mteb_nano.schema import count_faults, page_faults, some

_MAX_Z = 5.0  # standard deviations; a random order is beyond them once in two million


@dataclass(frozen=True)
class Check:
    """The verdict on one rule; `faults` is None where the data cannot show it."""

    rule: str
    faults: Sequence[str] | None
    shown: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against the rule."""
        return not self.faults

    def line(self) -> str:
        """Return the verdict as text."""
        if self.faults is None:
            return f"not shown  {self.rule}: {self.shown}"
        if self.faults:
            return f"FAILED     {self.rule}\n             " + "\n             ".join(self.faults)
        return f"ok         {self.rule}" + (f": {self.shown}" if self.shown else "")


def verify_folder(folder: Path) -> list[Check]:
    """Return the verdicts on all rules.

    Raises:
        UserError: The folder is no built dataset at all.
    """
    built = read_built(folder)
    rules: list[Callable[[Built], Check]] = [
        _judged_flags,
        _grades,
        _languages,
        _formats,
        _translations,
        _provenance,
        _telling_ids,
        _quotas,
        _no_copies,
    ]
    return [*_files(folder, built), *(rule(built) for rule in rules)]


def _files(folder: Path, built: Built) -> Iterable[Check]:
    """Check files against the manifest, and the tables against the schema of the tasks."""
    if built.manifest is None:
        reason = "the folder has no manifest.json"
        yield Check("files are the manifest's", None, reason)
        dataset = catalog.NANO_VIDORE_V3
    else:
        yield Check("files are the manifest's", read.manifest_faults(folder))
        dataset = catalog.from_manifest(built.manifest, folder)
    try:
        pages = read.read_pages(folder, "image+markdown")
        faults = page_faults(pages.corpus, pages.queries, pages.qrels, dataset)
        faults += read.corpus_image_faults(pages.documents)
    except UserError as error:
        faults = [str(error)]
    counts = {
        "corpus": len(built.pages),
        "queries": len(built.queries),
        "qrels": len(built.qrels),
        "judged": len({page for _, page in built.qrels}),
    }
    shown = ", ".join(f"{n:,} {what}" for what, n in counts.items())
    yield Check("the tables are whole and fit together", faults, shown)
    yield Check(f"the counts are those of {dataset.name}", count_faults(counts, dataset))


def _judged_flags(built: Built) -> Check:
    """is_judged is true of the pages in the qrels and of no others."""
    judged = {page for _, page in built.qrels}
    wrong = [p["id"] for p in built.pages if bool(p["is_judged"]) != (p["id"] in judged)]
    faults = [f"{len(wrong)} pages: {some(wrong)}"] if wrong else []
    return Check("is_judged marks the pages in the qrels", faults)


def _grades(built: Built) -> Check:
    """Grades are 1 and 2."""
    found = Counter(built.qrels.values())
    wrong = [
        f"{n} qrels have the grade {grade}" for grade, n in found.items() if grade not in (1, 2)
    ]
    shown = ", ".join(f"{n:,} of grade {grade}" for grade, n in sorted(found.items(), key=str))
    return Check("grades are 1 or 2", wrong, shown)


def _languages(built: Built) -> Check:
    """Languages differ by one query at most, in every source and in all."""
    rule = "languages are as even as whole numbers allow"
    if not all(query.get("language") for query in built.queries):
        return Check(rule, None, "the queries do not say their language")
    spoken = {name: _source_languages(built, name) for name in built.sources}
    counts = {name: Counter(dict.fromkeys(spoken[name], 0)) for name in built.sources}
    for query in built.queries:
        counts[query["source"]][query["language"]] += 1
    total: Counter[str] = Counter()
    for by_language in counts.values():
        total.update(by_language)
    faults = [
        f"{name}: {dict(sorted(by_language.items()))}"
        for name, by_language in counts.items()
        if max(by_language.values()) - min(by_language.values()) > 1
    ]
    if len({tuple(languages) for languages in spoken.values()}) == 1 and (
        max(total.values()) - min(total.values()) > 1
    ):
        faults.append(f"all sources together: {dict(sorted(total.items()))}")
    shown = ", ".join(f"{n} {language}" for language, n in sorted(total.items()))
    return Check(rule, faults, shown)


def _source_languages(built: Built, name: str) -> list[str]:
    """Return the languages that a source's queries could have had."""
    row = _of(built, name)
    return sorted(row["languages"] if row else {query["language"] for query in built.queries})


def _formats(built: Built) -> Check:
    """Every format has its share of the source's queries, in all and in every language."""
    rule = "query formats keep the sources' shares"
    universe = {name: (_of(built, name) or {}).get("query_formats", {}) for name in built.sources}
    if not all(universe.values()) or not all(query.get("language") for query in built.queries):
        return Check(rule, None, "the sources' own shares are not in the folder")
    faults = []
    for name, shares in universe.items():
        queries = [query for query in built.queries if query["source"] == name]
        found = Counter(query.get("query_format") or "" for query in queries)
        wanted = apportion(shares, len(queries))
        if {form: found[form] for form in {*wanted, *found}} != wanted:
            faults.append(f"{name}: {dict(found)}, wanted {wanted}")
        faults += _cell_faults(name, queries, found)
    return Check(rule, faults)


def _cell_faults(
    name: str, queries: Sequence[Mapping[str, Any]], formats: Mapping[str, int]
) -> list[str]:
    """Return the cells of language by format that are not the rounded proportional share."""
    languages = Counter(query["language"] for query in queries)
    cells = Counter((query["language"], query.get("query_format") or "") for query in queries)
    return [
        f"{name}: {cells[language, form]} {form} queries in {language}, "
        f"{n * m / len(queries):.2f} expected"
        for language, n in languages.items()
        for form, m in formats.items()
        if abs(cells[language, form] - Fraction(n * m, len(queries))) >= 1
    ]


def _translations(built: Built) -> Check:
    """No two queries are translations of one another."""
    rule = "no two queries are translations of one another"
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for query in built.queries:
        group = query.get("source_query_group")
        if group is None:
            n_groups = (_of(built, query["source"]) or {}).get("groups")
            published = PUBLISHED_SOURCES.get(query["source"])
            n_groups = n_groups or (published and published.groups)
            if not n_groups or not query["source_query_id"].isdigit():
                return Check(rule, None, "neither groups nor their number are in the folder")
            group = str(int(query["source_query_id"]) % n_groups)
        groups[query["source"], group].append(query["id"])
    faults = [f"{source}: {', '.join(ids)}" for (source, _), ids in groups.items() if len(ids) > 1]
    return Check(rule, faults)


def _provenance(built: Built) -> Check:
    """Every row leads back to one row of one source, and qrels stay within their source."""
    faults = []
    for rows, key in ((built.pages, "source_corpus_id"), (built.queries, "source_query_id")):
        counts = Counter((row["source"], row[key]) for row in rows)
        twice = [f"{source} {row_id}" for (source, row_id), n in counts.items() if n > 1]
        if twice:
            faults.append(f"{len(twice)} {key} come more than once: {some(twice)}")
    page_source = {page["id"]: page["source"] for page in built.pages}
    query_source = {query["id"]: query["source"] for query in built.queries}
    crossing = [
        f"({query}, {page})"
        for query, page in built.qrels
        if query_source.get(query) != page_source.get(page)
    ]
    if crossing:
        faults.append(f"{len(crossing)} qrels leave their source: {some(crossing)}")
    return Check("rows lead back to their sources", faults)


def _telling_ids(built: Built) -> Check:
    """The order of the ids, which breaks ties of scores, favours neither relevance nor source."""
    order = sorted(built.pages, key=lambda page: page["id"])
    marks = {"judged pages": [bool(page["is_judged"]) for page in order]}
    for name in built.sources:
        marks[f"pages of {name}"] = [page["source"] == name for page in order]
    faults = [
        f"{what} sort {'first' if z < 0 else 'last'} ({abs(z):.1f} standard deviations)"
        for what, marked in marks.items()
        if abs(z := _rank_sum_z(marked)) > _MAX_Z
    ]
    return Check("ids tell neither source nor relevance", faults)


def _rank_sum_z(marked: Sequence[bool]) -> float:
    """Return how far the marked places lie from a random order (Wilcoxon's rank sum)."""
    n, m = sum(marked), len(marked) - sum(marked)
    if not n or not m:
        return 0.0
    ranks = sum(rank for rank, is_marked in enumerate(marked, start=1) if is_marked)
    return (ranks - n * (n + m + 1) / 2) / sqrt(n * m * (n + m + 1) / 12)


def _quotas(built: Built) -> Check:
    """The negatives are shared out in proportion to the sources' sizes."""
    rule = "negatives are shared out by the sources' sizes"
    sizes = {name: _source_pages(built, name) for name in built.sources}
    if built.holds_all:
        return Check(rule, None, "the pool holds every candidate")
    if None in sizes.values():
        return Check(rule, None, "the sources' sizes are not in the folder")
    found = Counter(page["source"] for page in built.pages if not page["is_judged"])
    wanted = apportion({name: size or 0 for name, size in sizes.items()}, sum(found.values()))
    faults = [
        f"{name}: {found[name]} negatives, wanted {n}"
        for name, n in wanted.items()
        if found[name] != n
    ]
    return Check(rule, faults, ", ".join(f"{n} {name}" for name, n in wanted.items()))


def _source_pages(built: Built, name: str) -> int | None:
    """Return how many pages a source has."""
    row = _of(built, name)
    if row:
        return row["pages"]
    return PUBLISHED_SOURCES[name].pages if name in PUBLISHED_SOURCES else None


def _no_copies(built: Built) -> Check:
    """No negative is a near-copy of any other page."""
    graph = find_near_copies(
        pa.chunked_array([[p["text"] for p in built.pages]], pa.large_string())
    )
    recipe = (built.manifest or {}).get("recipe", {})
    empty_rule = recipe.get("empty_pages", "same")
    of_text: dict[int, list[int]] = defaultdict(list)
    for row, text in enumerate(graph.text_of.tolist()):
        of_text[text].append(row)
    faults = []
    for row, page in enumerate(built.pages):
        text = int(graph.text_of[row])
        if page["is_judged"] or (graph.empty[text] and empty_rule == "distinct"):
            continue
        if graph.empty[text] and empty_rule == "drop":
            faults.append(f"{page['id']} has no text")
        others = [other for other in of_text[text] if other != row]
        others += [of_text[other][0] for other, _ in graph.partners_of(text)]
        faults += [f"{page['id']} copies {built.pages[other]['id']}" for other in others[:1]]
    n_empty = int(graph.empty[graph.text_of].sum())
    return Check("no negative copies another page", faults[:20], f"{n_empty} pages without text")


def _of(built: Built, name: str) -> Mapping[str, Any] | None:
    """Return what the manifest says of a source before anything was taken from it."""
    for row in (built.manifest or {}).get("sources", ()):
        if row["name"] == name:
            return row.get("of")
    return None
