import pytest

from builders.ocr_mldr.glyphs import glyphs_of, missing_glyphs, without_missing
from builders.ocr_mldr.noise import noise_texts
from builders.ocr_mldr.recipes import FAITHFUL
from mteb_nano.errors import UserError
from tests.ocr_mldr.ocr_cases import TEXTS
from tests.ocr_mldr.pixel_engine import PixelEngine

FONT = FAITHFUL.font_path


def noise(texts, **options):
    return noise_texts(texts, "de", recipe="faithful", engine=PixelEngine(), **options)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Das ist 日本語.", r"日 \(U\+65E5\)"),  # CJK
        ("smile 😀", r"😀 \(U\+1F600\)"),  # emoji
        ("مرحبا", r"U\+0645"),  # right to left
        ("क्षि", r"U\+0915"),
        ("\ue000", r"U\+E000"),  # private use
    ],
)
def test_a_character_that_the_font_lacks_is_an_error_that_names_it(text, shown):
    """Drawn anyway it would be a box, which is read as nothing without a word."""
    with pytest.raises(UserError, match=rf"LiberationSerif-Regular\.ttf cannot draw.*{shown}"):
        noise([text])


def test_all_letters_of_the_five_languages_are_there():
    """The vendored font draws what MLDR's languages are written in."""
    letters = TEXTS["letters"]
    assert not missing_glyphs([letters], FONT)
    assert "א" in glyphs_of(FONT)  # Hebrew is in the font: drawn, not an error


def test_drop_leaves_the_character_out_of_the_image():
    """The image is that of the text without it; the clean text keeps it."""
    assert noise(["Das ist 日本 gut."], on_missing_glyph="drop") == noise(["Das ist gut."])
    assert without_missing("a 日 b", FONT) == "a b"


def test_keep_clean_leaves_the_sentence_alone_and_no_other():
    """Only the sentence with the character stays clean."""
    kept, other = noise(["Das ist 日本. "], on_missing_glyph="keep-clean"), noise(["Gut so."])
    assert kept == ["Das ist 日本."]
    both = noise(["Das ist 日本.\nGut so."], on_missing_glyph="keep-clean")
    assert both == [f"Das ist 日本. {other[0]}"]


def test_a_text_of_nothing_but_missing_characters_is_read_as_nothing():
    """With `drop` there is no ink left, and what is read is the empty text."""
    assert noise(["日本"], on_missing_glyph="drop") == [""]


def test_unusual_spaces_are_not_missing():
    """Whatever Unicode calls a space needs no glyph."""
    assert not missing_glyphs(["a\u3000b\u2009c\u00a0d"], FONT)
