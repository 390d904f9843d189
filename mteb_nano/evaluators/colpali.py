"""colpali-engine models: the model and its processor make an encoder."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from mteb_nano.errors import UserError
from mteb_nano.evaluators.similarity import Embeddings

_AUGMENTATION_TOKENS = 10  # colpali-engine's and mteb's own number


class ColpaliEncoder:
    """Embed queries and pages as colpali-engine and mteb do, without the padding.

    Args:
        model: Any of colpali-engine's models, of token vectors or of single vectors.
        processor: Its processor.
    """

    def __init__(self, model: Any, processor: Any) -> None:
        wanted = ("process_images", "process_texts")
        missing = [name for name in wanted if not hasattr(processor, name)]
        if missing:
            raise UserError(
                f"{type(processor).__name__} has no {' and no '.join(missing)}: expected the "
                "processor of a colpali-engine model"
            )
        self.model = model
        self.processor = processor

    def encode_queries(self, texts: Sequence[str], batch_size: int = 32) -> Embeddings:
        """Return (n, dim) float32, or n matrices of (n_tokens, dim), on the CPU."""
        prefix = getattr(self.processor, "query_prefix", "")
        suffix = getattr(self.processor, "query_augmentation_token", "") * _AUGMENTATION_TOKENS
        asked = [f"{prefix}{text}{suffix}" for text in texts]
        return self._embed(asked, self.processor.process_texts, batch_size)

    def encode_pages(self, pages: Sequence[Any], batch_size: int = 32) -> Embeddings:
        """Return the same for page images, or for texts."""
        if isinstance(pages[0], str):
            return self._embed(pages, self.processor.process_texts, batch_size)
        if isinstance(pages[0], Mapping):
            raise UserError("colpali-engine embeds an image or a text: use another mode")
        images = [page.convert("RGB") for page in pages]
        return self._embed(images, self.processor.process_images, batch_size)

    def _embed(self, items: Sequence[Any], process: Any, batch_size: int) -> Embeddings:
        vectors = [
            vector
            for start in range(0, len(items), batch_size)
            for vector in self._forward(process(list(items[start : start + batch_size])))
        ]
        return torch.stack(vectors) if vectors[0].ndim == 1 else vectors

    def _forward(self, batch: Mapping[str, torch.Tensor]) -> Iterator[torch.Tensor]:
        device = next(self.model.parameters()).device
        output = self.model(**{name: value.to(device) for name, value in batch.items()})
        embeddings = output.detach().float().cpu()
        if embeddings.ndim == 2:  # noqa: PLR2004  single vectors
            yield from embeddings
            return
        # Without the padding: the models leave zeros there, which beat every negative product.
        for tokens, mask in zip(embeddings, batch["attention_mask"].bool().cpu(), strict=True):
            yield tokens[mask] if len(mask) == len(tokens) else tokens
