"""An OCR engine for tests: what it "reads" depends on the image alone, and costs nothing."""

import os
import time
import zlib
from collections.abc import Mapping
from typing import Any

from PIL import Image


class PixelEngine:
    """Reads a word per inked image, nothing from a blank one.

    Appends to $PIXEL_ENGINE_LOG, and takes $PIXEL_ENGINE_SECONDS for an image.
    """

    def read(self, image: Image.Image, lang: str) -> str:
        log = os.environ.get("PIXEL_ENGINE_LOG")
        if log:
            with open(log, "a") as file:  # noqa: PTH123, O_APPEND of one line is atomic
                file.write(".")
        time.sleep(float(os.environ.get("PIXEL_ENGINE_SECONDS", "0")))
        ink = min(image.tobytes()) < 255
        return f"{lang} {zlib.crc32(image.tobytes()):08x} {image.width}" if ink else ""

    def describe(self) -> Mapping[str, Any]:
        return {"engine": "pixels", "version": "1"}


class NoMethods:
    """Not an engine."""
