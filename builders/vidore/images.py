"""Look at page images without keeping them."""

import io

from PIL import Image

from mteb_nano.errors import UserError


def check_image(content: bytes, what: str) -> None:
    """Raise UserError unless the bytes decode as an image to their end.

    JPEG is decoded at an eighth of its size, which reads every byte and costs a fraction.
    """
    try:
        with Image.open(io.BytesIO(content)) as image:
            image.draft("RGB", (image.width // 8 or 1, image.height // 8 or 1))
            image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise _fault(content, what, error) from error


def decode_image(content: bytes, what: str) -> Image.Image:
    """Return the decoded RGB image.

    Raises:
        UserError: The bytes do not decode.
    """
    try:
        with Image.open(io.BytesIO(content)) as image:
            return image.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise _fault(content, what, error) from error


def _fault(content: bytes, what: str, error: Exception) -> UserError:
    return UserError(
        f"{what}: its {len(content)} image bytes do not decode ({error}); fetch the source again or "
        "repair this row"
    )
