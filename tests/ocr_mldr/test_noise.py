from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from builders.ocr_mldr.noise import image_maker, noise_texts
from builders.ocr_mldr.recipes import FAITHFUL, RECIPES, Scan, recipe_named
from builders.ocr_mldr.scan import generator_for, scan
from mteb_nano.errors import UserError
from tests.ocr_mldr.ocr_cases import GERMAN
from tests.ocr_mldr.pixel_engine import PixelEngine


def noise(texts, recipe="faithful", **options):
    return noise_texts(texts, "de", recipe=recipe, engine=PixelEngine(), **options)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \n", "\x00", "\u200b\u200d", "\ud800"])
def test_texts_without_ink_stay_empty(text):
    """Nothing to draw is no sentence, so nothing is read, and nothing fails."""
    assert noise([text]) == [""]


@pytest.mark.parametrize(
    "text",
    [
        "tabs\tand\nnewlines",
        "zero\u200bwidth and con\x07trol",
        "com\u0308bining",
        "q\u0303 stays two characters",
        "שלום",
        "a" * 500,
    ],
)
def test_odd_texts_are_read(text):
    """What the font has is drawn and read, whatever else is in the text."""
    assert noise([text])[0].startswith("de ")


def test_10000_sentences_of_one_character_are_read_once_each():
    """Equal sentences have equal images, so each distinct one is recognised once."""

    class Counting(PixelEngine):
        n = 0

        def read(self, image, lang):
            self.n += 1
            return super().read(image, lang)

    engine = Counting()
    text = "\n".join("abcde"[n % 5] for n in range(10_000))
    noisy = noise_texts([text, text], "de", recipe="faithful", engine=engine)
    assert engine.n == 5
    assert noisy[0] == noisy[1]
    assert len(noisy[0].split()) == 30_000  # three words a sentence


def test_a_sentence_of_100000_characters_is_read():
    """It is cut, so that neither the image nor the time explodes."""
    assert len(noise(["lang " * 20_000])[0].split()) >= 50 * 3


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(len(GERMAN))))
def test_texts_do_not_influence_each_other(order):
    """Any batch in any order gives each text the same noise."""
    alone = [noise([text])[0] for text in GERMAN]
    together = noise([GERMAN[n] for n in order])
    assert together == [alone[n] for n in order]


def test_recipes_have_their_own_names_and_published_is_the_default():
    """A name is unique, and an unknown one lists all."""
    assert [name for name, r in RECIPES.items() if r.name != name] == []
    assert noise([GERMAN[0]], "published") == noise_texts([GERMAN[0]], "de", engine=PixelEngine())
    with pytest.raises(UserError, match="expected one of faithful, published, fast, scan-"):
        recipe_named("none")


def test_published_differs_from_faithful_in_settings_alone():
    """The calibration is per setting, never per language or kind of text."""
    published, faithful = RECIPES["published"], RECIPES["faithful"]
    same = replace(published, name="faithful", summary=faithful.summary, settings=faithful.settings)
    assert same == faithful
    assert {(s.dpi, s.font_pt) for s in published.settings} == {(120, 10), (130, 10), (300, 12)}
    assert all(recipe.scan is None for recipe in (published, faithful, RECIPES["fast"]))


PAGE = Image.fromarray(np.full((60, 200), 255, np.uint8))
PAGE.paste(0, (40, 20, 160, 30))


@pytest.mark.parametrize(
    "noise_kind",
    [
        Scan(blur_px=1.0),
        Scan(skew_degrees=3.0),
        Scan(salt_and_pepper=0.02),
        Scan(wave_px=3.0),
    ],
    ids=["blur", "skew", "salt", "wave"],
)
def test_each_scan_noise_changes_the_page_and_is_seeded(noise_kind):
    """The same sentence and seed give the same pixels, another seed or none other ones."""
    first, again = (scan(PAGE, noise_kind, generator_for("s", 1)) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    assert first.mode == "L"
    assert first.tobytes() != PAGE.tobytes()
    if not noise_kind.blur_px:
        assert scan(PAGE, noise_kind, generator_for("s", 2)).tobytes() != first.tobytes()
        assert scan(PAGE, noise_kind, generator_for("t", 1)).tobytes() != first.tobytes()


def test_salt_and_pepper_is_as_dense_as_it_says():
    """Half of the share turns black: 1% of a white page."""
    page = Image.new("L", (1000, 1000), 255)
    black = np.asarray(scan(page, Scan(salt_and_pepper=0.02), generator_for("s", 0))) == 0
    assert black.mean() == pytest.approx(0.01, rel=0.05)


def test_no_scan_noise_is_no_change():
    """The neutral element: all zero leaves the page as it is."""
    assert scan(PAGE, Scan(), generator_for("s", 0)).tobytes() == PAGE.tobytes()


@pytest.mark.parametrize("name", [n for n in RECIPES if n.startswith("scan-")])
def test_scan_recipes_are_the_faithful_page_with_noise(name):
    """They extend the benchmark, and share nothing with the calibration."""
    recipe = RECIPES[name]
    setting = recipe.setting("120/10")
    noisy, plain = (image_maker(r, setting)(GERMAN[3]) for r in (recipe, FAITHFUL))
    assert noisy.tobytes() != plain.tobytes()
    assert image_maker(recipe, setting)(GERMAN[3]).tobytes() == noisy.tobytes()
