"""Texts -> the same texts with OCR noise: the whole path of one text, in one process."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from PIL import Image

from builders.ocr_mldr.glyphs import (
    OnMissingGlyph,
    describe_missing,
    missing_glyphs,
    without_missing,
)
from builders.ocr_mldr.recipes import Recipe, Setting, recipe_named
from builders.ocr_mldr.recognize import OcrEngine, open_tesseract
from builders.ocr_mldr.render import renderer
from builders.ocr_mldr.scan import generator_for, scan
from builders.ocr_mldr.sentences import drawable, join_sentences, split_sentences
from mteb_nano.errors import UserError


def noise_texts(
    texts: Sequence[str],
    lang: str,
    setting: str = "dpi120_font10",
    recipe: str | Recipe = "published",
    *,
    engine: OcrEngine | None = None,
    tessdata: Path | None = None,
    on_missing_glyph: OnMissingGlyph = "error",
) -> list[str]:
    """Return each text as Tesseract reads it from images, one image a sentence.

    The clean text to compare with is `sentences.drawable(text)`: characters without ink are never
    drawn. Texts do not influence each other, so any batch gives the same result.

    Args:
        texts: Documents or queries in one language.
        lang: Two-letter code.
        setting: `dpi120_font10` or `120/10`.
        recipe: A name of `recipes.RECIPES` or a recipe of your own.
        engine: What reads the images; by default Tesseract with the recipe's models.
        tessdata: Folder of language files, for the default engine.
        on_missing_glyph: What to do with characters that the font lacks.

    Raises:
        UserError: A character cannot be drawn, or a language, setting, recipe, font or model file
            is not to be had.
    """
    chosen = recipe_named(recipe) if isinstance(recipe, str) else recipe
    size = chosen.setting(setting)
    engine = engine or open_tesseract((lang,), chosen, tessdata=tessdata)
    documents = [
        list(split_sentences(drawable(text), lang, max_chars=chosen.max_sentence_chars))
        for text in texts
    ]
    sentences = list(dict.fromkeys(s for document in documents for s in document))
    noise = sentence_noiser(chosen, size, lang, engine, on_missing_glyph=on_missing_glyph)
    check_glyphs(sentences, chosen.font_path, on_missing_glyph, where=f"{lang} texts")
    read = {sentence: noise(sentence) for sentence in sentences}
    return [join_sentences(read[s] for s in document) for document in documents]


def sentence_noiser(
    recipe: Recipe,
    setting: Setting,
    lang: str,
    engine: OcrEngine,
    *,
    on_missing_glyph: OnMissingGlyph = "error",
) -> Callable[[str], str]:
    """Return a function that draws and reads one sentence of `split_sentences`."""
    draw = image_maker(recipe, setting)

    def noise(sentence: str) -> str:
        if on_missing_glyph != "error" and missing_glyphs([sentence], recipe.font_path):
            if on_missing_glyph == "keep-clean":
                return sentence
            sentence = without_missing(sentence, recipe.font_path)
        return engine.read(draw(sentence), lang)

    return noise


def image_maker(recipe: Recipe, setting: Setting) -> Callable[[str], Image.Image]:
    """Return a function that gives the image of one sentence, scanner noise included."""
    draw = renderer(recipe, setting)
    noise = recipe.scan
    if noise is None:
        return draw
    return lambda sentence: scan(draw(sentence), noise, generator_for(sentence, recipe.scan_seed))


def check_glyphs(
    sentences: Iterable[str], font: Path, on_missing_glyph: OnMissingGlyph, *, where: str
) -> set[str]:
    """Return the characters that the font lacks.

    Raises:
        UserError: There are some, and `on_missing_glyph` is `error`.
    """
    missing = missing_glyphs(sentences, font)
    if missing and on_missing_glyph == "error":
        raise UserError(describe_missing(missing, font, where))
    return missing
