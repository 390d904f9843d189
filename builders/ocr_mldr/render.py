"""A sentence -> an 8-bit grey image of it on paper, as the original simulator draws it."""

import functools
import os
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from builders.ocr_mldr.recipes import Recipe, Setting
from mteb_nano.errors import UserError

PAPER, INK = 255, 0
MAX_SIDE_PX = 32_767  # Tesseract refuses wider and higher images
# Tesseract needs about 30 bytes a pixel; a sentence of 2,000 characters has 7 million at 300 dpi.
MAX_PIXELS = 100_000_000


@dataclass(frozen=True)
class Geometry:
    """Sizes of a page, in pixels and characters."""

    font_px: int
    margin_px: int
    columns: int

    @classmethod
    def of(cls, recipe: Recipe, setting: Setting) -> "Geometry":
        """Return the sizes; the original simulator's roundings, each of them."""
        font_px = int(setting.font_pt * setting.dpi / 72)
        margin_px = int(recipe.margin_in * setting.dpi)
        width_px = int(recipe.page_width_in * setting.dpi) - 2 * margin_px
        # A character counts as one font size wide, twice what it is: lines are half empty.
        return cls(font_px, margin_px, max(1, width_px // font_px))


def renderer(recipe: Recipe, setting: Setting) -> Callable[[str], Image.Image]:
    """Return a function that draws one sentence.

    The function raises `UserError` if the image would be larger than Tesseract takes; nothing is
    drawn then.
    """
    geometry = Geometry.of(recipe, setting)
    font = load_font(recipe.font_path, geometry.font_px)
    binary = _threshold_table(setting.ink_threshold)

    def draw(sentence: str) -> Image.Image:
        image = draw_lines(
            wrap(sentence, geometry), font, geometry.margin_px, gap_px=setting.line_gap_px
        )
        return image.point(binary) if binary else image

    return draw


def wrap(sentence: str, geometry: Geometry) -> list[str]:
    """Return the lines of a sentence, at least one.

    Words are not broken, as in the original, unless one alone is wider than an image may be.
    """
    longest = (MAX_SIDE_PX - 2 * geometry.margin_px) // (2 * geometry.font_px)
    lines = _wrapper(geometry.columns).wrap(sentence) or [""]
    return [line[i : i + longest] for line in lines for i in range(0, max(1, len(line)), longest)]


@functools.lru_cache(maxsize=8)
def _wrapper(columns: int) -> textwrap.TextWrapper:
    return textwrap.TextWrapper(width=columns, break_long_words=False)


def draw_lines(
    lines: list[str], font: ImageFont.FreeTypeFont, margin_px: int, *, gap_px: int = 0
) -> Image.Image:
    """Return an image of the lines, each placed below the ink height (and a gap) of the one before.

    The advance by ink height is the original simulator's: lines touch, and most of the noise comes
    from that.
    """
    # One layout pass per line gives the ink's box and its pixels.
    masks = [font.getmask2(line, mode="L", anchor="la") for line in lines]
    width = max(offset[0] + mask.size[0] for mask, offset in masks) + 2 * margin_px
    height = sum(max(0, mask.size[1] + gap_px) for mask, _ in masks) + 2 * margin_px
    if max(width, height) > MAX_SIDE_PX or width * height > MAX_PIXELS:
        raise UserError(
            f"a sentence of {sum(map(len, lines))} characters needs an image of {width} x {height} "
            f"pixels, more than {MAX_SIDE_PX} a side or {MAX_PIXELS} in all: take fewer dpi, a "
            "smaller font or a smaller max_sentence_chars"
        )
    image = Image.new("L", (width, height), PAPER)
    pen = ImageDraw.Draw(image).draw
    y = margin_px
    for mask, (dx, dy) in masks:
        if mask.size[0]:
            pen.draw_bitmap((margin_px + dx, y + dy), mask, INK)
        y += max(0, mask.size[1] + gap_px)
    return image


@functools.lru_cache(maxsize=16)
def load_font(path: Path, font_px: int) -> ImageFont.FreeTypeFont:
    """Return a font that draws the same pixels wherever Pillow 10.4 or later runs.

    Raises:
        UserError: The file is no font, or the environment changes FreeType's drawing.
    """
    if "FREETYPE_PROPERTIES" in os.environ:
        raise UserError("FREETYPE_PROPERTIES is set and changes how letters are drawn: unset it")
    try:
        # Pillow takes another layout engine by itself where it finds one; BASIC is everywhere.
        return ImageFont.truetype(path, font_px, layout_engine=ImageFont.Layout.BASIC)
    except OSError as error:
        raise UserError(f"font {path}: expected a TrueType or OpenType file: {error}") from None


def _threshold_table(threshold: int | None) -> list[int] | None:
    if threshold is None:
        return None
    return [INK if value < threshold else PAPER for value in range(256)]
