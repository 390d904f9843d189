"""Sources with smaller images, for samples."""

import io

from PIL import Image

from builders.vidore.shrink import main, shrink_image
from builders.vidore.sources import read_source
from tests.vidore.universe import image_bytes, make_rows, write_source


def test_only_the_images_change(tmp_path):
    """Text, queries and qrels stay as they were; no image is larger than before or than asked."""
    folder = write_source(tmp_path / "made", make_rows(1, n_pages=4))
    assert main([str(folder), "--out", str(tmp_path / "small"), "--longest-side", "32"]) == 0
    before, after = (
        read_source("made", path, origin="made") for path in (folder, tmp_path / "small/made")
    )
    assert after.markdown.to_pylist() == before.markdown.to_pylist()
    assert (after.queries, after.qrels) == (before.queries, before.qrels)
    old = dict(before.images())
    for page_id, content in after.images():
        assert len(content) <= len(old[page_id])
        assert Image.open(io.BytesIO(content)).format in ("JPEG", "PNG")


def test_sides_keep_their_ratio():
    """640 x 480 pixels, at most 32 wide, are 32 x 24."""
    large = image_bytes(1, size=(640, 480))
    small = shrink_image(large, "a page", longest_side=32, quality=60)
    assert Image.open(io.BytesIO(small)).size == (32, 24)
