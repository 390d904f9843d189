"""Which characters a font can draw. A missing one becomes a box, which is read as nothing."""

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from fontTools.ttLib import TTFont, TTLibError

from mteb_nano.errors import UserError

OnMissingGlyph = Literal["error", "drop", "keep-clean"]
N_SHOWN = 10


@functools.lru_cache(maxsize=4)
def glyphs_of(font: Path) -> frozenset[str]:
    """Return the characters that a font file has glyphs for.

    Raises:
        UserError: The file is no font or has no table of characters.
    """
    try:
        with TTFont(font, lazy=True, fontNumber=0) as file:
            codes = file.getBestCmap()
    except (OSError, TTLibError, AssertionError, KeyError) as error:
        raise UserError(f"font {font}: expected a TrueType or OpenType file: {error}") from None
    if not codes:
        raise UserError(f"font {font}: has no Unicode characters")
    return frozenset(map(chr, codes))


def missing_glyphs(texts: Iterable[str], font: Path) -> set[str]:
    """Return the characters of the texts, whitespace apart, that the font cannot draw."""
    seen: set[str] = set()
    for text in texts:
        seen.update(text)
    return {c for c in seen - glyphs_of(font) if not c.isspace()}


def describe_missing(characters: Iterable[str], font: Path, where: str) -> str:
    """Return an error message that names the characters and the font."""
    names = sorted(characters)
    shown = ", ".join(f"{c} (U+{ord(c):04X})" for c in names[:N_SHOWN])
    more = f" and {len(names) - N_SHOWN} more" if len(names) > N_SHOWN else ""
    return (
        f"{where}: the font {font.name} cannot draw {len(names)} character(s): {shown}{more}. Name "
        "a font that can (--font), or say what to do: --on-missing-glyph drop leaves them out of "
        "the image, --on-missing-glyph keep-clean leaves their sentences without noise"
    )


def without_missing(text: str, font: Path) -> str:
    """Return the text without the characters that the font cannot draw, spaces squeezed."""
    known = glyphs_of(font)
    return " ".join("".join(c for c in text if c in known or c.isspace()).split())
