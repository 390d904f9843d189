import hashlib
import textwrap
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from builders.ocr_mldr.recipes import FAITHFUL
from builders.ocr_mldr.render import Geometry, draw_lines, load_font, renderer, wrap
from mteb_nano.errors import UserError
from tests.ocr_mldr.ocr_cases import TEXTS

SENTENCES = tuple(TEXTS["drawn"])


def plain_image(text: str, dpi: int, points: int) -> Image.Image:
    """The original simulator's drawing, written down from its description: RGB, three layouts."""
    font_px = int(points * dpi / 72)
    margin = int(0.5 * dpi)
    columns = (int(8.5 * dpi) - 2 * margin) // font_px
    font = ImageFont.truetype(FAITHFUL.font_path, font_px, layout_engine=ImageFont.Layout.BASIC)
    lines = textwrap.wrap(text, columns, break_long_words=False) or [""]
    heights = [font.getbbox(line)[3] - font.getbbox(line)[1] for line in lines]
    width = max(font.getbbox(line)[2] for line in lines)
    image = Image.new("RGB", (int(width + 2 * margin), int(sum(heights) + 2 * margin)), "white")
    y = margin
    for line, height in zip(lines, heights, strict=True):
        ImageDraw.Draw(image).text((margin, y), line, font=font, fill="black")
        y += height
    return image.convert("L")


@pytest.mark.parametrize("setting", FAITHFUL.settings, ids=lambda s: s.name)
@pytest.mark.parametrize("sentence", SENTENCES)
def test_faithful_images_are_the_originals_pixel_by_pixel(setting, sentence):
    """One layout pass a line gives the same image as the original's way of three."""
    ours = renderer(FAITHFUL, setting)(sentence)
    plain = plain_image(sentence, setting.dpi, setting.font_pt)
    assert ours.size == plain.size
    assert ours.tobytes() == plain.tobytes()


def test_columns_of_the_three_settings():
    """56, 54 and 45 characters a line."""
    columns = [Geometry.of(FAITHFUL, s).columns for s in FAITHFUL.settings]
    assert columns == [56, 54, 45]


def test_pixels_are_the_golden_ones():
    """Another Pillow or FreeType that draws other pixels would change the dataset."""
    digest = hashlib.sha256()
    for setting in FAITHFUL.settings:
        for sentence in SENTENCES:
            digest.update(renderer(FAITHFUL, setting)(sentence).tobytes())
    golden = Path(__file__).with_name("golden_pixels.sha256")
    assert digest.hexdigest() == golden.read_text().strip()


def test_ink_threshold_leaves_black_and_white_only():
    """A pixel is ink if it is darker than the threshold of the grey drawing."""
    setting = FAITHFUL.setting("120/10")
    grey = renderer(FAITHFUL, setting)(SENTENCES[0])
    binary = renderer(FAITHFUL, replace(setting, ink_threshold=88))(SENTENCES[0])
    assert set(binary.tobytes()) == {0, 255}
    assert [v < 88 for v in grey.tobytes()] == [v == 0 for v in binary.tobytes()]


def test_line_gap_moves_lines_only():
    """A gap of -1 makes the image of n lines n pixels lower."""
    geometry = Geometry.of(FAITHFUL, FAITHFUL.settings[0])
    font = load_font(FAITHFUL.font_path, geometry.font_px)
    lines = wrap(SENTENCES[0], geometry)
    touching, overlapping = (draw_lines(lines, font, 60, gap_px=gap) for gap in (0, -1))
    assert len(lines) > 1
    assert touching.height - overlapping.height == len(lines)
    assert touching.width == overlapping.width


@pytest.mark.parametrize("setting", ["120/10", "300/12", "600/12"])
def test_a_word_of_2000_characters_is_broken_where_an_image_ends(setting):
    """Tesseract takes 32,767 pixels a side; the longest unbroken word stays below."""
    image = renderer(FAITHFUL, FAITHFUL.setting(setting))("W" * 2000)
    assert image.width <= 32_767


def test_too_large_an_image_is_refused_before_it_is_drawn():
    """The error costs no memory and says what to change."""
    draw = renderer(FAITHFUL, FAITHFUL.setting("1200/72"))
    tracemalloc.start()
    with pytest.raises(UserError, match=r"pixels.*fewer dpi"):
        draw("wort " * 400)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_an_empty_sentence_is_an_empty_page():
    """Nothing to draw is a page without ink, of margins only."""
    image = renderer(FAITHFUL, FAITHFUL.settings[0])("")
    assert image.getextrema() == (255, 255)
    assert image.size == (120, 120)


def test_a_wrong_font_file_is_named(tmp_path):
    """A file that is no font is refused with its path."""
    wrong = tmp_path / "font.ttf"
    wrong.write_text("no font")
    recipe = replace(FAITHFUL, font=str(wrong))
    with pytest.raises(UserError, match=r"font\.ttf: expected a TrueType"):
        renderer(recipe, FAITHFUL.settings[0])


def test_freetype_properties_are_refused(monkeypatch):
    """The variable changes how letters are drawn, so it must not be set in silence."""
    monkeypatch.setenv("FREETYPE_PROPERTIES", "truetype:interpreter-version=35")
    load_font.cache_clear()
    with pytest.raises(UserError, match="FREETYPE_PROPERTIES"):
        load_font(FAITHFUL.font_path, 16)


@pytest.mark.parametrize("name", ["dpi120", "120", "120/10/3", "1/10", "120/900", "x"])
def test_wrong_settings_are_refused(name):
    """The message shows both spellings."""
    with pytest.raises(UserError, match="dpi120_font10 or 120/10"):
        FAITHFUL.setting(name)
