"""The pool: a hand-worked case, and the rule written out the slow way."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders.vidore.neardup import find_near_copies
from builders.vidore.selection import Negative, Pool, Skip, count_skips, fill_pool
from mteb_nano.errors import UserError


def text(*blocks):
    """Return a page of blocks of 20 words; a page shares a block's 8 13-grams with another."""
    return " ".join(f"{block}{i}" for block in blocks for i in range(20))


def make_pool(pages, empty_pages: Any = "same"):
    graph = find_near_copies(pa.array(list(pages.values()), pa.string()))
    return Pool(graph, dict(zip(pages, graph.text_of.tolist(), strict=True)), empty_pages)


def test_by_hand():
    """Two sources, two queries: rounds, an exact copy, a containment, a copy across sources.

    Source a (quota 2): q1 wants 2, a copy of its positive 1: skipped, takes 3. q2 wants 3: pooled,
    takes 4. Source b (quota 1): 1 contains a's page 4: skipped, takes 2.
    """
    pages = {
        ("a", "1"): text("x"),
        ("a", "2"): text("x").upper(),
        ("a", "3"): text("y"),
        ("a", "4"): text("z"),
        ("b", "0"): text("p"),
        ("b", "1"): text("z", "v"),
        ("b", "2"): text("w"),
    }
    pool = make_pool(pages)

    negatives, skips = fill_pool(
        pool,
        positives=[("a", "1"), ("b", "0")],
        candidates={"b": {"q": ["1", "2"]}, "a": {"q1": ["2", "3", "4"], "q2": ["3", "4"]}},
        quotas={"b": 1, "a": 2},
    )

    assert negatives == [
        Negative("a", "3", "q1", 2),
        Negative("a", "4", "q2", 2),
        Negative("b", "2", "q", 2),
    ]
    assert skips == [
        Skip("a", "2", "q1", 1, ("a", "1"), "exact", 1.0),
        Skip("b", "1", "q", 1, ("a", "4"), "containment", 1.0),
    ]
    assert count_skips(skips) == {"exact": 1, "containment": 1, "empty": 0, "pages": 2, "times": 2}


def test_positives_that_copy_one_another_all_stay():
    """Positives are never dropped."""
    pages = {("a", "1"): text("x"), ("a", "2"): text("x")}
    pool = make_pool(pages)
    fill_pool(pool, positives=list(pages), candidates={"a": {}}, quotas={"a": 0})
    assert pool.pages == set(pages)


@pytest.mark.parametrize(
    ("rule", "chosen"), [("same", ["1", "3"]), ("distinct", ["1", "2"]), ("drop", ["3", "4"])]
)
def test_empty_pages(rule, chosen):
    """Empty pages are copies of one another, or never copies, or never negatives."""
    pages = {("a", "1"): "", ("a", "2"): " ", ("a", "3"): "word", ("a", "4"): "other"}
    pool = make_pool(pages, rule)
    negatives, skips = fill_pool(
        pool, positives=[], candidates={"a": {"q": ["1", "2", "3", "4"]}}, quotas={"a": 2}
    )
    assert [n.page_id for n in negatives] == chosen
    assert {s.rule for s in skips} <= {"empty"}


def test_exhausted_lists_say_what_to_raise():
    """Too few candidates: an error that names the source, the numbers and the options."""
    pool = make_pool({("a", "1"): "one", ("a", "2"): "two"})
    with pytest.raises(UserError, match=r"(?s)a: .* give 2 negatives, its quota is 3.*--top-k"):
        fill_pool(pool, positives=[], candidates={"a": {"q": ["1", "2"]}}, quotas={"a": 3})


def test_a_quota_may_be_open():
    """Without `fill` a source gives what its candidates give."""
    pool = make_pool({("a", "1"): "one", ("a", "2"): "two", ("a", "3"): "one"})
    negatives, skips = fill_pool(
        pool, positives=[], candidates={"a": {"q": ["1", "2", "3"]}}, quotas={"a": 9}, fill=False
    )
    assert [n.page_id for n in negatives] == ["1", "2"]
    assert [(s.page_id, s.rule) for s in skips] == [("3", "exact")]


def fill_slowly(pages, positives, candidates, quotas):
    """The card's rule, literally: on every insert compare with every pooled page."""

    def grams(page):
        words = pages[page].split()
        return {tuple(words[i : i + 13]) for i in range(len(words) - 12)}

    def copies(page, other):
        a, b = grams(page), grams(other)
        return pages[page] == pages[other] or bool(
            a and b and 2 * len(a & b) >= min(len(a), len(b))
        )

    pool, chosen = sorted(positives), []
    for source in sorted(quotas):
        left = {q: list(pages_) for q, pages_ in candidates[source].items()}
        n = 0
        while n < quotas[source] and any(left.values()):
            for query, ranked in left.items():
                while ranked and n < quotas[source]:
                    page = (source, ranked.pop(0))
                    if page not in pool and not any(copies(page, other) for other in pool):
                        pool.append(page)
                        chosen.append((page, query))
                        n += 1
                        break
    return chosen


@st.composite
def worlds(draw):
    blocks = st.lists(st.sampled_from("xyzuvw"), max_size=3).map(lambda b: text(*b))
    pages, candidates, quotas = {}, {}, {}
    for source in ("a", "b"):
        n = draw(st.integers(1, 8))
        for i in range(n):
            pages[source, str(i)] = draw(blocks)
        ids = [str(i) for i in range(n)]
        candidates[source] = {
            f"q{k}": draw(st.permutations(ids)) for k in range(draw(st.integers(1, 3)))
        }
        quotas[source] = draw(st.integers(0, 4))
    positives = draw(st.sets(st.sampled_from(sorted(pages)), max_size=4))
    return pages, positives, candidates, quotas


@given(worlds())
def test_same_pool_as_the_slow_rule(world):
    """Look-ups in the graph choose the pages, for the queries, that comparing all pages chooses."""
    pages, positives, candidates, quotas = world
    expected = fill_slowly(pages, positives, candidates, quotas)
    assume(len(expected) == sum(quotas.values()))
    negatives, skips = fill_pool(
        make_pool(pages), positives=positives, candidates=candidates, quotas=quotas
    )
    assert [((n.source, n.page_id), n.query_id) for n in negatives] == expected
    for skip in skips:
        assert skip.copy_of in {*positives, *(page for page, _ in expected)}
