"""Languages become mteb's codes, however data write them."""

import pytest

from mteb_nano.catalog import NANO_VIDORE_V3, OCR_MLDR
from mteb_nano.errors import UserError
from mteb_nano.languages import to_iso_639_3, to_mteb


@pytest.mark.parametrize(
    "language", ["french", "French", " french ", "fr", "FR", "fra", "fr-FR", "fr_CA", "fra-Latn"]
)
def test_a_language_is_known_by_name_and_by_code(language):
    """English name, two letters, three letters, with region or script: all French."""
    assert to_iso_639_3(language) == "fra"
    assert to_mteb(language) == "fra-Latn"


def test_the_published_languages_are_mtebs():
    """All six names and five codes become tags that mteb's own list holds."""
    from mteb.languages import ISO_TO_LANGUAGE, ISO_TO_SCRIPT

    for language in (*NANO_VIDORE_V3.query_languages, *OCR_MLDR.languages):
        code, script = to_mteb(language).split("-")
        assert code in ISO_TO_LANGUAGE
        assert script in ISO_TO_SCRIPT
    assert to_mteb("ru") == to_mteb("russian") == "rus-Cyrl"
    assert to_mteb("portuguese") == "por-Latn"


def test_a_script_that_is_named_is_kept():
    """zh-Hans and sr_latn say more than the language's usual script."""
    assert to_mteb("zh-Hans") == "zho-Hans"
    assert to_mteb("sr_latn") == "srp-Latn"


@pytest.mark.parametrize("language", ["", "klingonese", "xx", "123"])
def test_an_unknown_language_is_an_error(language):
    """It is never passed on, nor taken for English."""
    for convert in (to_iso_639_3, to_mteb):
        with pytest.raises(UserError, match="unknown language"):
            convert(language)
