"""Page images are untrusted: what is wrong with one, said before a model sees it."""

import io
import warnings

from PIL import Image

# Pillow's own warning threshold (a quarter of 1 GiB at 3 bytes a pixel); a page at 300 dpi has 9
# million pixels, an A2 poster at 300 dpi has 35 million.
MAX_PIXELS = 89_478_485
_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP")
# How a complete file ends: finds a cut-off download without decoding (about 20 ms a page).
_ENDINGS = {"JPEG": (b"\xff\xd9", 64), "PNG": (b"IEND\xaeB`\x82", 64)}


def image_fault(data: bytes | None, *, decode: bool = False) -> str | None:
    """Return what is wrong with an encoded image, or None.

    Args:
        data: The encoded file.
        decode: Decode every pixel, which finds all damage; otherwise header and ending are read.
    """
    if not data:
        return "is empty"
    try:
        with warnings.catch_warnings():
            # Pillow warns above its limit and raises at twice the limit; ours is one limit.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    return f"has {width} x {height} pixels, more than the limit of {MAX_PIXELS:,}"
                if decode:
                    image.load()
                return _ending_fault(data, image.format)
    except Image.DecompressionBombError:
        return f"has more pixels than the limit of {MAX_PIXELS:,}"
    except (OSError, SyntaxError, ValueError) as error:
        return f"cannot be decoded ({str(error)[:80]})"


def _ending_fault(data: bytes, image_format: str | None) -> str | None:
    ending, within = _ENDINGS.get(image_format or "", (b"", 0))
    # Some writers pad the file; a cut file lacks the end marker altogether.
    if ending and ending not in data[-within:]:
        return "is cut off (its end marker is missing)"
    return None
