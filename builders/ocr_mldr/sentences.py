"""Documents -> sentences that can be drawn, and back."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from sentencex import segment  # pyrefly: ignore[missing-module-attribute]

# Format characters have no ink, and the fonts lack many: zero-width space and joiners, direction
# marks, soft hyphen, byte order mark, variation selectors. Controls would be drawn as boxes.
_KEPT_CONTROLS = "\n\t"
_VARIATION_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def drawable(text: str) -> str:
    """Return the text in NFC without characters that have no ink.

    Left out: control characters but newline and tab (carriage returns become newlines), zero-width
    and other format characters, soft hyphens, variation selectors and lone surrogates. This is
    the text that is kept as `clean_text` and that error rates refer to.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    text = _VARIATION_SELECTORS.sub("", text)
    kept = "".join(c for c in text if c in _KEPT_CONTROLS or not _has_no_ink(c))
    return unicodedata.normalize("NFC", kept)


def _has_no_ink(character: str) -> bool:
    # Control, format, surrogate. Private and unassigned characters are left to the font's check.
    return unicodedata.category(character) in {"Cc", "Cf", "Cs"}


def split_sentences(text: str, lang: str, *, max_chars: int) -> Iterator[str]:
    """Yield the sentences of a drawable text, none empty, each of at most `max_chars` characters.

    A line break ends a sentence. Whitespace between sentences is not kept.

    Args:
        text: The result of `drawable`.
        lang: Two-letter code, for the list of abbreviations.
        max_chars: Longer sentences are cut, at a space where there is one: Tesseract's time grows
            faster than the length.
    """
    for line in text.splitlines():
        # Lines of many megabytes are cut first: the splitter copies its input several times.
        for piece in _cut(line.strip(), 50 * max_chars):
            for sentence in segment(lang, piece):
                yield from _cut(sentence.strip(), max_chars)


def join_sentences(sentences: Iterable[str]) -> str:
    """Return the document that sentences (clean or recognised) make: with one space between."""
    return " ".join(sentences)


def _cut(text: str, max_chars: int) -> Iterator[str]:
    while len(text) > max_chars:
        space = text.rfind(" ", 1, max_chars + 1)
        end = space if space > 0 else max_chars
        yield text[:end].rstrip()
        text = text[end:].lstrip()
    if text:
        yield text
