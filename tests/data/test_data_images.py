"""Page images that cannot be used are told from those that can, before a model sees them."""

import io
import random
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mteb_nano.images import MAX_PIXELS, image_fault
from tests.generate import image_bytes

KINDS = ("PNG", "JPEG", "WEBP", "TIFF", "GIF", "BMP")


def noise_image(kind):
    """Return an image of noise, whose file is long enough to be cut anywhere."""
    picture = Image.frombytes("RGB", (64, 64), random.Random(0).randbytes(64 * 64 * 3))
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return buffer.getvalue()


def bomb(width, height):
    """Return a PNG of a few bytes that says it is this large."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0")), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("decode", [False, True])
def test_whole_images_have_no_fault(kind, decode):
    """All six formats pass, looked at briefly and decoded."""
    assert image_fault(image_bytes("a page", kind=kind), decode=decode) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", [0.3, 0.6, 0.95])
def test_a_cut_image_is_found_without_decoding_the_whole_ones(kind, part):
    """An interrupted download shows at load, in every format, not in the middle of a run."""
    data = noise_image(kind)
    assert "cannot be decoded" in str(image_fault(data[: int(len(data) * part)]))


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_whole_image_with_something_after_it_is_no_fault(kind):
    """Cameras and scanners append their own data; what decodes is usable."""
    assert image_fault(image_bytes("a page", kind=kind) + b"trailer" * 100) is None


def test_a_decompression_bomb_is_refused_from_its_header():
    """70 bytes that unpack to 10 gigapixels are not unpacked; nor is what Pillow only warns of."""
    assert "pixels than the limit" in str(image_fault(bomb(100_000, 100_000)))
    assert "10000 x 9000 pixels" in str(image_fault(bomb(10_000, 9_000)))
    assert MAX_PIXELS < 10_000 * 9_000


@pytest.mark.parametrize(
    "data", [None, b"", b"\0" * 99, b"<svg/>", b"%PDF-1.7", b"%!PS-Adobe-3.0 EPSF-3.0\n"]
)
def test_what_is_no_image_is_a_fault(data):
    """Nothing, garbage, and formats that would start other programs (EPS: Ghostscript)."""
    assert image_fault(data) is not None


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(KINDS), st.data())
def test_damaged_images_never_raise(kind, data):
    """Any bytes changed, cut or added: the answer is None or a line."""
    content = bytearray(noise_image(kind)[:2000])
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, 150))] = data.draw(st.integers(0, 255))
    fault = image_fault(bytes(content), decode=True)
    assert fault is None or "\n" not in fault
