"""Page images: checked without being kept, decoded one at a time."""

import io

from PIL import Image

from mteb_nano.errors import UserError
from mteb_nano.images import image_fault


def check_image(content: bytes, what: str) -> None:
    """Raise UserError unless the bytes decode as an image to their end.

    JPEG is decoded at an eighth of its size, which reads every byte and costs a fraction.
    """
    fault = image_fault(content)
    if not fault:
        try:
            with Image.open(io.BytesIO(content)) as image:
                image.draft("RGB", (image.width // 8 or 1, image.height // 8 or 1))
                image.load()
        except (OSError, SyntaxError, ValueError) as error:
            fault = f"cannot be decoded ({error})"
    if fault:
        raise UserError(f"{what}: the image {fault}; fetch the source again or repair this row")


def decode_image(content: bytes, what: str) -> Image.Image:
    """Return the decoded RGB image.

    Raises:
        UserError: The bytes do not decode.
    """
    try:
        with Image.open(io.BytesIO(content)) as image:
            return image.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise UserError(
            f"{what}: the image does not decode ({error}); fetch the source again, or repair it"
        ) from error
