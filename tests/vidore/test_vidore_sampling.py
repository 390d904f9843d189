"""Sampling: languages, formats, translations, order of the input."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.vidore.groups import Group
from builders.vidore.recipe import PUBLISHED_SOURCES
from builders.vidore.sampling import count_picks, sample_queries
from mteb_nano.errors import UserError

LANGUAGES = ("english", "french", "german", "italian", "portuguese", "spanish")
FORMATS = ("question", "instruction", "keyword")


def make_groups(n, languages, formats):
    return [
        Group(
            str(g),
            formats[g % len(formats)],
            {lang: str(g + n * b) for b, lang in enumerate(languages)},
        )
        for g in range(n)
    ]


@st.composite
def universes(draw):
    """Some sources with random formats, sizes and, as the card has it, the same languages."""
    languages = LANGUAGES[: draw(st.integers(1, 6))]
    universe, sizes = {}, {}
    for i in range(draw(st.integers(1, 5))):
        n = draw(st.integers(1, 40))
        formats = draw(st.lists(st.sampled_from(FORMATS), min_size=n, max_size=n))
        universe[f"source{i}"] = make_groups(n, languages, formats)
        sizes[f"source{i}"] = draw(st.integers(1, n))
    return universe, sizes, languages


@given(universes(), st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_every_rule_of_the_card_holds(made, seed, random):
    """Even languages in each source and in all, kept formats, one translation; any row order."""
    universe, sizes, languages = made

    picks = sample_queries(universe, sizes, seed=seed)

    total = Counter(pick.language for pick in picks)
    assert max(total.values()) - min(total[lang] for lang in languages) <= 1
    for name, groups in universe.items():
        mine = [pick for pick in picks if pick.source == name]
        assert len(mine) == sizes[name]
        assert len({pick.group for pick in mine}) == sizes[name]
        by_language = Counter(pick.language for pick in mine)
        assert max(by_language.values()) - min(by_language[lang] for lang in languages) <= 1
        by_format = Counter(pick.query_format for pick in mine)
        for form, n in Counter(group.query_format for group in groups).items():
            assert abs(by_format[form] - Fraction(sizes[name] * n, len(groups))) < 1
        cells = Counter((pick.language, pick.query_format) for pick in mine)
        for lang in languages:
            for form in by_format:
                exact = Fraction(by_language[lang] * by_format[form], len(mine))
                assert abs(cells[lang, form] - exact) < 1
    reordered = {
        name: [
            Group(g.key, g.query_format, dict(reversed(g.query_ids.items())))
            for g in random.sample(universe[name], len(universe[name]))
        ]
        for name in random.sample(sorted(universe), len(universe))
    }
    assert sample_queries(reordered, sizes, seed=seed) == picks


def test_published_size():
    """50 of each of the 8 sources: 400 queries, 8 or 9 of a language a source, 66 or 67 in all."""
    universe = {
        name: make_groups(
            source.groups, LANGUAGES, ["question", "question", "keyword", "instruction", "question"]
        )
        for name, source in PUBLISHED_SOURCES.items()
    }
    picks = sample_queries(universe, dict.fromkeys(universe, 50), seed=0)
    counts = count_picks(picks)
    assert len(picks) == 400
    assert sorted(Counter(p.language for p in picks).values()) == [66, 66, 67, 67, 67, 67]
    for source in counts.values():
        assert sorted(source["language"].values()) == [8, 8, 8, 8, 9, 9]
        assert source["query_format"] == {"instruction": 10, "keyword": 10, "question": 30}


def test_seeds_differ():
    """Another seed is another sample of the same shape."""
    universe = {"a": make_groups(40, LANGUAGES, FORMATS)}
    one, other = (sample_queries(universe, {"a": 20}, seed=seed) for seed in (1, 2))
    assert {p.group for p in one} != {p.group for p in other}


def test_sources_may_have_other_languages():
    """A source of one language only: the others make up for it as far as they can."""
    universe = {
        "many": make_groups(30, ("english", "french", "german"), ["question"]),
        "one": make_groups(30, ("german",), ["question"]),
    }
    picks = sample_queries(universe, {"many": 10, "one": 5}, seed=0)
    assert Counter(p.language for p in picks if p.source == "many") == {
        "english": 4,
        "french": 3,
        "german": 3,
    } or Counter(p.language for p in picks if p.source == "many") == {
        "english": 3,
        "french": 4,
        "german": 3,
    }


def test_small_source_is_refused():
    """A source smaller than its share is named, with both numbers."""
    universe = {
        "small": make_groups(4, LANGUAGES, FORMATS),
        "big": make_groups(90, LANGUAGES, FORMATS),
    }
    with pytest.raises(UserError, match="small: 50 queries wanted, 4 distinct ones exist"):
        sample_queries(universe, {"small": 50, "big": 50}, seed=0)
