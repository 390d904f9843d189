"""Where Tesseract's language files are: in a folder, in the system, or fetched once by checksum."""

import functools
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pooch

from builders.ocr_mldr.recipes import ModelSet, Recipe
from mteb_nano.errors import UserError
from mteb_nano.locate import cache_folder
from mteb_nano.manifest import sha256_of

# The two letters that name a dataset's folders -> Tesseract's three.
TESSERACT_LANGS: Mapping[str, str] = {
    "ar": "ara", "bn": "ben", "cs": "ces", "da": "dan", "de": "deu", "el": "ell", "en": "eng",
    "es": "spa", "fa": "fas", "fi": "fin", "fr": "fra", "hi": "hin", "hu": "hun", "id": "ind",
    "it": "ita", "ja": "jpn", "ko": "kor", "lb": "ltz", "nl": "nld", "pl": "pol", "pt": "por",
    "ro": "ron", "ru": "rus", "sv": "swe", "sw": "swa", "te": "tel", "th": "tha", "tr": "tur",
    "uk": "ukr", "vi": "vie", "yo": "yor", "zh": "chi_sim",
}  # fmt: skip
# sha256 of the files that the recipes were calibrated with. The `main` ones are those of the tag
# 4.0.0 of https://github.com/tesseract-ocr/tessdata (both engines in one file), the `fast` ones
# those that Debian 12 packages.
CHECKSUMS: Mapping[ModelSet, Mapping[str, str]] = {
    "main": {
        "deu": "896b3b4956503ab9daa10285db330881b2d74b70d889b79262cc534b9ec699a4",
        "eng": "daa0c97d651c19fba3b25e81317cd697e9908c8208090c94c3905381c23fc047",
        "fra": "eac01c1d72540d6090facb7b2f42dd0a2ee8fc57c5be1b20548ae668e2761913",
        "rus": "681be2c2bead1bc7bd235df88c44e8e60ae73ae866840c0ad4e3b4c247bd37c2",
        "spa": "0b0fcbb4665189e01ab8019e591f014dd7260460de072543edd4b2cb4ede7c96",
    },
    "fast": {
        "deu": "19d219bbb6672c869d20a9636c6816a81eb9a71796cb93ebe0cb1530e2cdb22d",
        "eng": "7d4322bd2a7749724879683fc3912cb542f19906c83bcc1a52132556427170b2",
        "fra": "ced037562e8c80c13122dece28dd477d399af80911a28791a66a63ac1e3445ca",
        "rus": "e16e5e036cce1d9ec2b00063cf8b54472625b9e14d893a169e2b0dedeb4df225",
        "spa": "6f2e04d02774a18f01bed44b1111f2cd7f3ba7ac9dc4373cd3f898a40ea6b464",
    },
}
SYSTEM_FOLDERS = (
    Path("/usr/share/tesseract-ocr/5/tessdata"),
    Path("/usr/share/tesseract-ocr/4.00/tessdata"),
    Path("/usr/share/tessdata"),
    Path("/usr/local/share/tessdata"),
    Path("/opt/homebrew/share/tessdata"),
)
OFFICIAL: Mapping[ModelSet, str] = {
    "main": "https://github.com/tesseract-ocr/tessdata/raw/4.0.0",
    "fast": "https://github.com/tesseract-ocr/tessdata_fast/raw/4.1.0",
}


@dataclass(frozen=True)
class Model:
    """A language file: where it is, what it is, and what the recipe wants it to be.

    Attributes:
        expected: The sha256 that the recipe was calibrated with, None where it names none.
    """

    lang: str
    path: Path
    model_set: ModelSet
    sha256: str
    expected: str | None

    @property
    def is_the_recipes(self) -> bool:
        """Whether this is the very file that the recipe names."""
        return self.sha256 == self.expected

    def as_dict(self) -> dict[str, Any]:
        """Return what the manifest says of the file; not where it lay."""
        return {
            "set": self.model_set,
            "sha256": self.sha256,
            "recipe_sha256": self.expected,
            "is_the_recipes": self.is_the_recipes,
        }


def tesseract_lang(lang: str) -> str:
    """Return Tesseract's code of a language (`de` -> `deu`).

    Raises:
        UserError: The language is not known here.
    """
    if lang not in TESSERACT_LANGS:
        raise UserError(f"language {lang!r}: expected one of {', '.join(TESSERACT_LANGS)}")
    return TESSERACT_LANGS[lang]


def find_models(
    langs: Sequence[str],
    recipe: Recipe,
    *,
    folder: Path | None = None,
    official: Mapping[ModelSet, str] = OFFICIAL,
) -> dict[str, Model]:
    """Return the language file of each language, all checksums read.

    A file with the recipe's checksum is taken first, be it in `folder`, the system or the user's
    cache. Without one, a file in `folder` is taken whatever it holds (the manifest tells), and what
    is still missing is fetched from the official repository, once, into the cache.

    Args:
        langs: Two-letter codes.
        recipe: Says which model set each language is read with.
        folder: Where to look first.
        official: Addresses to fetch from, for tests and mirrors.

    Raises:
        UserError: Files are missing and cannot be fetched; all are named, with ways to get them.
    """
    found: dict[str, Model] = {}
    faults = []
    for lang in langs:
        code = tesseract_lang(lang)
        model_set = recipe.model_set(code)
        try:
            found[lang] = _find(code, model_set, folder, official)
        except UserError as error:
            faults.append(str(error))
    if faults:
        raise UserError("\n".join(faults))
    return found


def _find(
    code: str, model_set: ModelSet, folder: Path | None, official: Mapping[ModelSet, str]
) -> Model:
    expected = CHECKSUMS[model_set].get(code)
    name = f"{code}.traineddata"
    cache = _cache(model_set)
    folders = [folder] if folder is not None else []
    there = [f / name for f in (*folders, *_system_folders(), cache) if (f / name).is_file()]
    exact = [path for path in there if _sha256(path) == expected]
    if exact:
        return Model(code, exact[0], model_set, expected or "", expected)
    if folder is not None and (folder / name).is_file():
        return Model(code, folder / name, model_set, _sha256(folder / name), expected)
    if expected is None and there and model_set == "fast":
        # Debian's files are the `fast` ones: for languages without a checksum, trust the place.
        return Model(code, there[0], model_set, _sha256(there[0]), None)
    path = _fetch(code, model_set, expected, official[model_set], cache)
    return Model(code, path, model_set, _sha256(path), expected)


def has_model(code: str, model_set: ModelSet, sha256: str) -> bool:
    """Return whether the system or the cache has a language file with this checksum."""
    paths = (f / f"{code}.traineddata" for f in (*_system_folders(), _cache(model_set)))
    return any(path.is_file() and _sha256(path) == sha256 for path in paths)


def _cache(model_set: ModelSet) -> Path:
    return cache_folder() / f"tessdata-{model_set}"


def _system_folders() -> tuple[Path, ...]:
    prefix = os.environ.get("TESSDATA_PREFIX")
    return ((Path(prefix),) if prefix else ()) + SYSTEM_FOLDERS


def _fetch(code: str, model_set: ModelSet, expected: str | None, address: str, cache: Path) -> Path:
    name = f"{code}.traineddata"
    if expected is None:
        raise UserError(_missing(code, model_set, address, cache, "no checksum is known for it"))
    pooch.get_logger().setLevel(logging.WARNING)
    try:
        known_hash = f"sha256:{expected}"
        return Path(pooch.retrieve(f"{address}/{name}", known_hash, fname=name, path=cache))
    except OSError as error:  # requests' errors are OSErrors too
        why = f"{type(error).__name__}: is there a network?"
        raise UserError(_missing(code, model_set, address, cache, why)) from None
    except ValueError:
        why = f"another file than the one with sha256 {expected} came"
        raise UserError(_missing(code, model_set, address, cache, why)) from None


def _missing(code: str, model_set: ModelSet, address: str, cache: Path, why: str) -> str:
    ways = [f"curl -L --create-dirs -o {cache}/{code}.traineddata {address}/{code}.traineddata"]
    ways.append("--tessdata FOLDER with the file")
    package = f"apt install tesseract-ocr-{code.replace('_', '-')}"
    ways.append(package if model_set == "fast" else f"--recipe fast and {package}")
    return (
        f"{code}.traineddata ({model_set}) was not found in the system and could not be fetched "
        f"({why}). Ways to get it: {'; or '.join(ways)}"
    )


@functools.lru_cache(maxsize=64)
def _sha256(path: Path) -> str:
    return sha256_of(path)
