"""Page images for many evaluations: decoded, and resized, once per evaluator."""

import contextlib
import logging
import math
import mmap
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, cast

import datasets
from PIL import Image

from mteb_nano import read
from mteb_nano.errors import UserError
from mteb_nano.evaluators.fit import Fit

log = logging.getLogger(__name__)
# A memory image is its bytes alone only in these modes; others are decoded each time.
_PLAIN_MODES = ("L", "LA", "RGB", "RGBA", "CMYK")
_MEGABYTE = 1_000_000
# What must stay free of the disk that the images are kept on.
_HEADROOM = 0.1


class PageImages:
    """The images of pages by row number; the first look decodes, later ones copy pixels.

    Pixels stay in memory up to a limit, the rest lies in a temporary file that goes with this
    object. Where neither has room, a page is decoded each time.

    Args:
        pages: Has a column `image`, and `id` for messages.
        max_pixels: Larger images are made smaller, to at most this many pixels; None leaves all.
        memory_mb: Memory for pixels, in millions of bytes.
        folder: Where the file lies; the system's folder for temporary files when None.
    """

    def __init__(
        self,
        pages: datasets.Dataset,
        *,
        max_pixels: int | None = None,
        memory_mb: int = 1000,
        folder: Path | None = None,
    ) -> None:
        self._pages = pages
        self._max_pixels = max_pixels
        self._room = (memory_mb * _MEGABYTE, folder)
        self._store = _PixelStore(*self._room)
        self._fit: Fit | None = None
        self.n_decoded = 0

    def fit_to(self, fit: Fit | None) -> None:
        """Keep images as one processor resizes them; what was kept for another one is dropped."""
        if (fit and fit.key) != (self._fit and self._fit.key):
            self._store = _PixelStore(*self._room)
        self._fit = fit

    def __len__(self) -> int:
        return len(self._pages)

    def __getitem__(self, row: int) -> Image.Image:
        kept = self._store.get(row)
        if kept is not None:
            return kept
        image = smaller(self._decode(row), self._max_pixels)
        self.n_decoded += 1
        if self._fit is not None:
            image = self._fit(image)
        if image.mode in _PLAIN_MODES:
            self._store.put(row, image)
        return image

    def _decode(self, row: int) -> Image.Image:
        try:
            image = self._pages[row]["image"]
            image.load()
        except (OSError, SyntaxError) as error:
            page = cast("datasets.Dataset", self._pages.select([row]))
            faults = read.corpus_image_faults(page, decode=True)
            raise UserError(
                "\n".join(["a page image cannot be used", *(faults or [str(error)])])
            ) from error
        return image


def smaller(image: Image.Image, max_pixels: int | None) -> Image.Image:
    """Return the image with at most this many pixels, its shape kept as well as whole pixels can.

    Lanczos, as small print must stay legible.
    """
    width, height = image.size
    if max_pixels is None or width * height <= max_pixels:
        return image
    scale = math.sqrt(max_pixels / (width * height))
    size = (max(1, math.floor(width * scale)), max(1, math.floor(height * scale)))
    if image.mode not in _PLAIN_MODES:
        image = image.convert("RGB")  # Pillow resamples palettes and bits by nearest neighbour
    return image.resize(size, Image.Resampling.LANCZOS)


class _PixelStore:
    """Pixels of images in memory up to a limit, then in one file."""

    def __init__(self, memory_bytes: int, folder: Path | None) -> None:
        self._memory_left = memory_bytes
        self._folder = folder
        self._in_memory: dict[int, tuple[str, tuple[int, int], bytes]] = {}
        self._in_file: dict[int, tuple[str, tuple[int, int], int, int]] = {}
        self._file: Any = None
        self._map: mmap.mmap | None = None
        self._length = 0

    def get(self, row: int) -> Image.Image | None:
        if row in self._in_memory:
            mode, size, data = self._in_memory[row]
            return Image.frombytes(mode, size, data)
        if row in self._in_file:
            mode, size, start, length = self._in_file[row]
            return Image.frombytes(mode, size, self._mapped()[start : start + length])
        return None

    def put(self, row: int, image: Image.Image) -> None:
        data = image.tobytes()
        if len(data) <= self._memory_left:
            self._memory_left -= len(data)
            self._in_memory[row] = (image.mode, image.size, data)
        elif self._has_room(len(data)):
            self._file.seek(self._length)
            self._file.write(data)
            self._in_file[row] = (image.mode, image.size, self._length, len(data))
            self._length += len(data)

    def _has_room(self, length: int) -> bool:
        if self._file is None:
            # No name: the system takes the file back whenever this process ends.
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
            weakref.finalize(self, _close, self._file)
            log.info("page images beyond cache_mb are kept in a temporary file")
        disk = shutil.disk_usage(self._folder or tempfile.gettempdir())
        return disk.free - length > _HEADROOM * disk.total

    def _mapped(self) -> mmap.mmap:
        if self._map is None or len(self._map) < self._length:
            self._file.flush()
            self._map = mmap.mmap(self._file.fileno(), self._length, access=mmap.ACCESS_READ)
        return self._map


def _close(file: Any) -> None:
    with contextlib.suppress(OSError):
        file.close()
