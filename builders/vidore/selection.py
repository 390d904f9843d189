"""Fill the pool: all positives, then the hardest negatives of each query in turn, no copies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from builders.vidore.neardup import NearCopies
from builders.vidore.recipe import EmptyPages
from mteb_nano.errors import UserError

PageKey = tuple[str, str]  # (source, page id)


@dataclass(frozen=True)
class Negative:
    """A page that was added, the query that brought it, and its rank among the query's candidates.

    Attributes:
        rank: 1 for the best candidate.
    """

    source: str
    page_id: str
    query_id: str
    rank: int


@dataclass(frozen=True)
class Skip:
    """A candidate that was passed over.

    Attributes:
        copy_of: The pooled page that it copies; ("", "") for an empty page under `drop`.
        rule: `exact`, `containment` or `empty`.
        containment: Shared part of the smaller page's 13-grams; 1 for the other rules.
    """

    source: str
    page_id: str
    query_id: str
    rank: int
    copy_of: PageKey
    rule: str
    containment: float


@dataclass
class Pool:
    """The pages chosen so far, and what each text among them is a copy of.

    Attributes:
        text_of: Text number of every page of every source, see `NearCopies`.
    """

    graph: NearCopies
    text_of: Mapping[PageKey, int]
    empty_pages: EmptyPages
    pages: set[PageKey] = field(default_factory=set)
    first_page: dict[int, PageKey] = field(default_factory=dict)

    def add(self, page: PageKey) -> None:
        """Add a page, whatever it copies."""
        self.pages.add(page)
        self.first_page.setdefault(self.text_of[page], page)

    def copied_by(self, page: PageKey) -> tuple[PageKey, str, float] | None:
        """Return (pooled page, rule, containment) of the closest page that this one copies.

        The exact rule comes first; among equal containments the page that sorts first.
        """
        text = self.text_of[page]
        if self.graph.empty[text]:
            return self._empty_rule(text)
        if text in self.first_page:
            return self.first_page[text], "exact", 1.0
        near = [
            (-containment, self.first_page[other])
            for other, containment in self.graph.partners_of(text)
            if other in self.first_page
        ]
        if not near:
            return None
        containment, closest = min(near)
        return closest, "containment", -containment

    def _empty_rule(self, text: int) -> tuple[PageKey, str, float] | None:
        """Return what the option for empty pages says."""
        if self.empty_pages == "drop":
            return ("", ""), "empty", 1.0
        if self.empty_pages == "same" and text in self.first_page:
            return self.first_page[text], "empty", 1.0
        return None


def fill_pool(
    pool: Pool,
    *,
    positives: Iterable[PageKey],
    candidates: Mapping[str, Mapping[str, Sequence[str]]],
    quotas: Mapping[str, int],
    fill: bool = True,
) -> tuple[list[Negative], list[Skip]]:
    """Add the positives of all sources, then each source's quota of negatives.

    Sources go in the order of their names, the queries of a source in the order given, in rounds:
    each adds its best candidate that is neither pooled nor a copy of a pooled page of any source.

    Args:
        pool: Empty; filled in place.
        positives: Go in first, whatever they copy.
        candidates: Source -> query id -> page ids, hardest first.
        quotas: Source -> how many negatives.
        fill: Whether candidates that do not fill a quota are an error.

    Returns:
        The negatives in the order of choice, and every candidate that was passed over as a copy.

    Raises:
        UserError: The candidates of a source do not fill its quota.
    """
    for page in sorted(positives):
        pool.add(page)
    negatives: list[Negative] = []
    skips: list[Skip] = []
    for source in sorted(quotas):
        chosen, passed = _fill_source(pool, source, candidates[source], quotas[source])
        if fill and len(chosen) < quotas[source]:
            raise UserError(_exhausted(source, candidates[source], quotas[source], chosen, passed))
        negatives += chosen
        skips += passed
    return negatives, skips


def _fill_source(
    pool: Pool, source: str, candidates: Mapping[str, Sequence[str]], quota: int
) -> tuple[list[Negative], list[Skip]]:
    """Return the negatives and skips of one source."""
    negatives: list[Negative] = []
    skips: list[Skip] = []
    next_rank = dict.fromkeys(candidates, 0)
    while len(negatives) < quota:
        before = len(negatives)
        for query_id, pages in candidates.items():
            if len(negatives) == quota:
                break
            rank = next_rank[query_id]
            while rank < len(pages):
                page = (source, pages[rank])
                rank += 1
                if page in pool.pages:
                    continue
                copied = pool.copied_by(page)
                if copied is None:
                    pool.add(page)
                    negatives.append(Negative(*page, query_id, rank))
                    break
                skips.append(Skip(*page, query_id, rank, *copied))
            next_rank[query_id] = rank
        if len(negatives) == before:
            break
    return negatives, skips


def _exhausted(
    source: str,
    candidates: Mapping[str, Sequence[str]],
    quota: int,
    negatives: Sequence[Negative],
    skips: Sequence[Skip],
) -> str:
    """Return what to say when the candidates of a source end before its quota."""
    depth = max((len(pages) for pages in candidates.values()), default=0)
    n_copies = len({skip.page_id for skip in skips})
    return (
        f"{source}: its queries' candidates give {len(negatives)} negatives, its quota is {quota} "
        f"({len(candidates)} queries, at most {depth} candidates each, {n_copies} pages passed "
        "over as copies); raise --top-k or --queries-per-source, or lower --pool-size"
    )


def count_skips(skips: Sequence[Skip]) -> dict[str, int]:
    """Return how many distinct pages each rule passed over, and how many times in all.

    A page counts under the rule that first met it.
    """
    rules: dict[PageKey, str] = {}
    for skip in skips:
        rules.setdefault((skip.source, skip.page_id), skip.rule)
    counts = dict.fromkeys(("exact", "containment", "empty"), 0)
    for rule in rules.values():
        counts[rule] += 1
    return {**counts, "pages": len(rules), "times": len(skips)}
