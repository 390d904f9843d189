import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.ocr_mldr.sentences import drawable, join_sentences, split_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x00b\x07c", "abc"),  # NUL and bell
        ("zero\u200bwidth\u200djoin\ufeff", "zerowidthjoin"),
        ("Sil\u00adben", "Silben"),  # soft hyphen
        ("u\u0308ber", "über"),  # combining mark: composed
        ("lone\ud800surrogate", "lonesurrogate"),
        ("star\ufe0f", "star"),  # variation selector
        ("a\r\nb\rc\td", "a\nb\nc\td"),
        ("", ""),
        (" \n\t", " \n\t"),
        ("plain ASCII stays", "plain ASCII stays"),
    ],
)
def test_drawable_leaves_out_what_has_no_ink(text, expected):
    """Characters that a font cannot show never reach it, and can be stored as UTF-8."""
    assert drawable(text) == expected
    drawable(text).encode()


@given(st.text(alphabet=st.characters(), max_size=200))
def test_drawable_is_stable_and_composed(text):
    """Applying it twice changes nothing, the result is NFC, and UTF-8 can hold it."""
    once = drawable(text)
    assert drawable(once) == once
    assert unicodedata.is_normalized("NFC", once)
    once.encode()


@given(
    st.text(alphabet=st.sampled_from("abcÄß .!?\n\t«»и"), max_size=400),
    st.sampled_from(["de", "en", "es", "fr", "ru"]),
    st.integers(5, 60),
)
def test_sentences_hold_every_character_in_order(text, lang, max_chars):
    """Splitting loses whitespace only, keeps the order, and no sentence is empty or too long."""
    sentences = list(split_sentences(text, lang, max_chars=max_chars))
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(0 < len(s) <= max_chars and s == s.strip() for s in sentences)


def test_german_abbreviations_do_not_end_sentences():
    """The splitter knows the language: `z.B.` stays inside."""
    text = "Das System startet, z.B. von Hand. Danach ist es bereit.\nNeue Zeile"
    assert list(split_sentences(text, "de", max_chars=2000)) == [
        "Das System startet, z.B. von Hand.",
        "Danach ist es bereit.",
        "Neue Zeile",
    ]


def test_a_sentence_of_100000_characters_is_cut_at_spaces():
    """Length is bounded, words stay whole where they can, and one endless word is cut too."""
    pieces = list(split_sentences("wort " * 20_000, "de", max_chars=2000))
    assert max(map(len, pieces)) <= 2000
    assert set(" ".join(pieces).split()) == {"wort"}
    assert len(" ".join(pieces).split()) == 20_000
    endless = list(split_sentences("x" * 100_000, "en", max_chars=2000))
    assert "".join(endless) == "x" * 100_000


def test_joining_puts_one_space_between():
    """An unread sentence stays empty; it is not replaced by anything."""
    assert join_sentences(["a", "", "b"]) == "a  b"
