"""Page images are untrusted: what is wrong with one, said before a model sees it."""

import io
import warnings

from PIL import Image

# Pillow's own warning threshold (a quarter of 1 GiB at 3 bytes a pixel); a page at 300 dpi has 9
# million pixels, an A2 poster at 300 dpi has 35 million.
MAX_PIXELS = 89_478_485
_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP")
_ENDINGS = {"JPEG": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82"}
_ENDING_WITHIN = 64  # bytes; some writers pad the file


def image_fault(data: bytes | None, *, decode: bool = False) -> str | None:
    """Return what is wrong with an encoded image, or None.

    Args:
        data: The encoded file.
        decode: Decode every pixel, which finds all damage (about 20 ms a page). Otherwise that is
            done only for an image that does not end as a complete file does.
    """
    if not data:
        return "is empty"
    try:
        with warnings.catch_warnings():
            # Pillow warns above its limit and raises at twice the limit; ours is one limit.
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    return f"has {width} x {height} pixels, more than the limit of {MAX_PIXELS:,}"
                if decode or not _ends_well(data, image.format):
                    image.load()
    except Image.DecompressionBombError:
        return f"has more pixels than the limit of {MAX_PIXELS:,}"
    except Exception as error:  # noqa: BLE001  Pillow's readers raise all sorts on damaged files
        return f"cannot be decoded ({' '.join(str(error).split())[:80] or type(error).__name__})"
    return None


def _ends_well(data: bytes, image_format: str | None) -> bool:
    """Return whether a file ends as a complete one does: finds a cut-off download for free."""
    if image_format == "WEBP":  # its length stands in its header
        return int.from_bytes(data[4:8], "little") + 8 <= len(data)
    ending = _ENDINGS.get(image_format or "")
    return ending is not None and ending in data[-_ENDING_WITHIN:]
