"""Near-copies, against the definition written out with Python sets."""

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.vidore.neardup import find_near_copies, normalise

# Few words, so that 13-grams meet; and what normalisation must bring together or keep apart.
words = st.sampled_from(
    ["a", "b", "A", "ﬁ", "fi", "Å", "å", "ß", "C\u0327", "ç", "\u00a0", "é", "\t"]
)
pages = st.lists(st.lists(words, max_size=40).map(" ".join), max_size=12)


def words_of(text):
    return unicodedata.normalize("NFKD", text.lower()).split()


def grams(text):
    words = words_of(text)
    return {tuple(words[i : i + 13]) for i in range(len(words) - 12)}


def pairs_by_definition(texts):
    """Return {(i, j): shared} for i < j with 2 |A & B| >= min(|A|, |B|) > 0."""
    sets = [grams(text) for text in texts]
    return {
        (i, j): len(sets[i] & sets[j])
        for j in range(len(texts))
        for i in range(j)
        if sets[i] and sets[j] and 2 * len(sets[i] & sets[j]) >= min(len(sets[i]), len(sets[j]))
    }


def pairs_found(texts):
    graph = find_near_copies(pa.array(texts, pa.string()))
    found = {}
    for j in range(len(texts)):
        for i in range(j):
            a, b = int(graph.text_of[i]), int(graph.text_of[j])
            near = dict(graph.partners_of(a))
            if a == b and graph.n_grams[a]:
                found[i, j] = int(graph.n_grams[a])
            elif b in near:
                found[i, j] = round(near[b] * min(graph.n_grams[a], graph.n_grams[b]))
    return found


@given(pages)
def test_pairs_are_those_of_the_definition(texts):
    """The sparse product over hashes gives the pairs, and the shared counts, of plain sets."""
    assert pairs_found(texts) == pairs_by_definition(texts)


@given(pages)
def test_equal_texts_are_one_node(texts):
    """Pages share a node exactly when their normalised words are the same."""
    graph = find_near_copies(pa.array(texts, pa.string()))
    for i, one in enumerate(texts):
        for j, other in enumerate(texts):
            assert (graph.text_of[i] == graph.text_of[j]) == (words_of(one) == words_of(other))
        assert bool(graph.empty[graph.text_of[i]]) == (not words_of(one))


@given(pages, st.randoms(use_true_random=False))
def test_order_of_pages_does_not_matter(texts, random):
    """The same pages in another order have the same pairs."""
    order = list(range(len(texts)))
    random.shuffle(order)
    moved = pairs_found([texts[i] for i in order])
    assert {tuple(sorted((order[i], order[j]))) for i, j in moved} == set(pairs_found(texts))


def number_words(start, stop):
    return " ".join(f"w{i}" for i in range(start, stop))


@pytest.mark.parametrize(("shared_words", "near"), [(22, True), (21, False)])
def test_containment_of_exactly_half(shared_words, near):
    """32 words are 20 13-grams; 22 shared words are 10 of them, a copy; 21 are 9, no copy."""
    small = number_words(0, 32)
    large = number_words(0, shared_words) + " " + number_words(1000, 1100)
    assert (set(pairs_found([small, large])) == {(0, 1)}) == near
    assert (set(pairs_found([large, small])) == {(0, 1)}) == near


def test_repeated_ngrams_count_once():
    """The n-grams are a set: a page that says one thing over and over has few."""
    graph = find_near_copies(pa.array(["x " * 100, "x " * 50 + "y " * 50]))
    assert graph.n_grams.tolist() == [1, 14]  # all x; 12 with x before y, all y
    assert dict(graph.partners_of(0)) == {1: 1.0}


def test_short_pages_are_copies_only_when_equal():
    """Twelve words have no 13-gram: equal texts are one node, contained texts are strangers."""
    graph = find_near_copies(
        pa.array([number_words(0, 12), number_words(0, 12).upper(), number_words(0, 40)])
    )
    assert graph.text_of.tolist() == [0, 0, 1]
    assert list(graph.partners_of(0)) == []


def test_lowercase_before_nfkd():
    """The order is fixed: mathematical bold A has no lower case, so it ends as a capital A."""
    assert normalise(pa.array(["\U0001d400  B\u2003c"])).to_pylist() == ["A b c"]


def test_null_and_blank_pages_are_empty():
    """Pages without words are one empty node, whatever kind of nothing they hold."""
    graph = find_near_copies(pa.array([None, "", " \n\u00a0", "word"]))
    assert graph.text_of.tolist() == [0, 0, 0, 1]
    assert graph.empty.tolist() == [True, False]


def test_a_page_of_ten_megabytes():
    """A huge page is worked on like any other; a page that it contains is its copy."""
    huge = " ".join(f"w{i}" for i in range(1_400_000))
    assert len(huge) > 10_000_000
    graph = find_near_copies(pa.array([huge, number_words(500, 600)]))
    assert dict(graph.partners_of(1)) == {0: 1.0}
