import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.ocr_mldr.error_rate import (
    character_error_rate,
    edit_distance,
    mean_error_rate,
    squeeze,
)


@pytest.mark.parametrize(
    ("clean", "noisy", "rate"),
    [
        ("kitten", "sitting", 3 / 6),  # the textbook case: two substitutions, one insertion
        ("abcd", "abcd", 0.0),
        ("abcd", "", 1.0),  # nothing read is everything wrong
        ("ab", "abcdef", 2.0),  # not capped
        ("", "", 0.0),
        ("", "xyz", 3.0),
        ("für", "fur", 1 / 3),  # one character, though two bytes
    ],
)
def test_character_error_rate_is_distance_over_clean_length(clean, noisy, rate):
    """Hand-worked cases of the one definition."""
    assert character_error_rate(clean, noisy) == pytest.approx(rate)


def slow_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        above, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
    return row[-1]


@given(st.text(alphabet="abé \n", max_size=90), st.text(alphabet="abé \n", max_size=90))
def test_edit_distance_is_the_textbook_recursion(a, b):
    """The library and its search hint give what the definition gives, far or near."""
    assert edit_distance(a, b) == slow_distance(a, b)


def test_mean_is_over_documents_not_characters():
    """A short bad document counts as much as a long good one."""
    assert mean_error_rate([("a", "b"), ("a" * 99, "a" * 99)]) == pytest.approx(0.5)


def test_squeeze_makes_line_breaks_and_runs_one_space():
    """The normalised rate does not count paragraphs."""
    assert squeeze(" a\n\nb \t c ") == "a b c"
