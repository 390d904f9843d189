"""Images -> text. Any object with `read` and `describe` can stand in for Tesseract."""

import importlib
import importlib.metadata
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from PIL import Image

from builders.ocr_mldr.models import Model
from builders.ocr_mldr.recipes import Recipe
from mteb_nano.errors import UserError
from mteb_nano.manifest import sha256_of


@runtime_checkable
class OcrEngine(Protocol):
    """What reads images. It must give the same text for the same image, in any order."""

    def read(self, image: Image.Image, lang: str) -> str:
        """Return the text on a grey image; "" if there is none. `lang` is a two-letter code."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """Return versions and checksums: all that the text depends on, for manifest and keys."""
        ...


class TesseractEngine:
    """Tesseract in this process, kept open.

    It reads what a `tesseract` process per image would with the same library, without the cost
    of starting, loading the model and writing an image file.

    Args:
        models: Language files by two-letter code, from `find_models`.
        recipe: Gives the segmentation and engine modes.

    Raises:
        UserError: tesserocr is not installed.
    """

    def __init__(self, models: Mapping[str, Model], recipe: Recipe) -> None:
        self._tesserocr = _import_tesserocr()
        self._models = dict(models)
        self._recipe = recipe
        self._lang: str | None = None
        self._api: Any = None

    def read(self, image: Image.Image, lang: str) -> str:
        """Return the text, line breaks as spaces.

        Raises:
            UserError: The language has no model, or its file is damaged.
        """
        if lang != self._lang:
            self._open(lang)
        self._api.SetImageBytes(image.tobytes(), image.width, image.height, 1, image.width)
        text = self._api.GetUTF8Text()
        # The older of Tesseract's two engines learns from each image; a text must not depend on
        # the images before it.
        self._api.ClearAdaptiveClassifier()
        return text.replace("\n", " ").strip()

    def describe(self) -> dict[str, Any]:
        """Return the versions and the checksums of the language files."""
        return {
            "engine": "tesseract",
            "tesseract": self._tesserocr.tesseract_version().split()[1],
            "tesserocr": importlib.metadata.version("tesserocr"),
            "models": {m.lang: m.as_dict() for m in self._models.values()},
        }

    def _open(self, lang: str) -> None:
        if lang not in self._models:
            raise UserError(
                f"language {lang!r}: the engine was opened for {', '.join(self._models)}"
            )
        if self._api is not None:
            self._api.End()  # one open language: five of them would hold 300 MB
        model = self._models[lang]
        if not model.path.is_file() or sha256_of(model.path) != model.sha256:
            raise UserError(
                f"{model.path}: is not, on this machine, the file that the build was started with "
                f"(sha256 {model.sha256})"
            )
        try:
            self._api = self._tesserocr.PyTessBaseAPI(
                path=f"{model.path.parent}{os.sep}",
                lang=model.lang,
                psm=self._recipe.psm,
                oem=self._recipe.oem,
            )
        except RuntimeError:
            self._api = self._lang = None
            raise UserError(f"{model.path}: Tesseract cannot read it: fetch it again") from None
        self._lang = lang


def load_engine_class(name: str) -> Any:
    """Return what `module:name` stands for, called with (languages, recipe) to make an engine.

    Raises:
        UserError: It cannot be imported.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"OCR engine {name!r}: expected package.module:name; {error}") from None


def _import_tesserocr() -> Any:
    # Several threads on images this small cost more than they bring; read once, at the import.
    os.environ.setdefault("OMP_THREAD_LIMIT", "1")
    try:
        return importlib.import_module("tesserocr")
    except ImportError as error:
        raise UserError(
            f"Tesseract cannot be used ({error}): pip install 'mteb-nano[builders]'"
        ) from None


def open_tesseract(
    langs: tuple[str, ...], recipe: Recipe, *, tessdata: Path | None = None
) -> TesseractEngine:
    """Return an engine for some languages, its files found or fetched; see `find_models`."""
    from builders.ocr_mldr.models import find_models

    return TesseractEngine(find_models(langs, recipe, folder=tessdata), recipe)
