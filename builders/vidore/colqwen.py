"""ColQwen3.5 models through colpali-engine: page images and queries -> unpadded embeddings."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from builders.vidore.images import decode_image
from mteb_nano.errors import UserError

Page = tuple[str, bytes]  # what it is, for messages; the encoded image


class Encoder:
    """A loaded model.

    Attributes:
        device: Where it runs.
    """

    def __init__(
        self, model: str, revision: str | None, *, visual_tokens: int | None, device: str | None
    ) -> None:
        """Load the model; bfloat16 on a GPU, float32 on a CPU.

        Args:
            model: Name on the Hub, or a folder.
            revision: Commit on the Hub; None for a folder.
            visual_tokens: Most visual tokens of a page; None for the model's own limit.
            device: None for a GPU where there is one.

        Raises:
            UserError: colpali-engine is not installed, or the model cannot be loaded.
        """
        self.device = device or default_device()
        try:
            from colpali_engine.models import ColQwen3_5, ColQwen3_5Processor
        except ImportError as error:
            raise UserError(
                f"{model} is encoded by colpali-engine, which cannot be imported ({error}); "
                "pip install 'mteb-nano[colpali]'"
            ) from error
        cap: dict[str, Any] = (
            {} if visual_tokens is None else {"max_num_visual_tokens": visual_tokens}
        )
        try:
            self._processor: Any = ColQwen3_5Processor.from_pretrained(
                model, revision=revision, **cap
            )
            self._model: Any = ColQwen3_5.from_pretrained(
                model, revision=revision, dtype=precision(self.device), device_map=self.device
            ).eval()
        except (OSError, ValueError) as error:
            raise UserError(f"--miner {model}: cannot be loaded: {error}") from error

    def encode_pages(self, pages: Sequence[Page], *, batch_size: int) -> Iterator[torch.Tensor]:
        """Yield the embeddings, (n_tokens, dim) bfloat16 on the CPU, of each page.

        The next batch is decoded and cut into patches while the model works on this one.
        """
        batches = [pages[i : i + batch_size] for i in range(0, len(pages), batch_size)]
        for inputs in _ahead(self._prepare, batches):
            yield from self._forward(inputs)

    def encode_queries(self, texts: Sequence[str]) -> list[torch.Tensor]:
        """Return the embeddings, (n_tokens, dim) bfloat16 on the CPU, of each query.

        One at a time, so that they do not depend on the other queries.
        """
        return [
            tokens
            for text in texts
            for tokens in self._forward(self._processor.process_queries([text]))
        ]

    def _prepare(self, pages: Sequence[Page]) -> Any:
        """Return the model's inputs for a batch of pages."""
        return self._processor.process_images([decode_image(data, what) for what, data in pages])

    def _forward(self, inputs: Any) -> Iterator[torch.Tensor]:
        """Yield the embeddings of a batch without its padding."""
        inputs = {key: value.to(self.device) for key, value in inputs.items()}
        with torch.inference_mode():
            # The model keeps the positions of the batch before, of another shape.
            self._model.rope_deltas = None
            tokens = self._model(**inputs)
        mask = inputs["attention_mask"].bool()
        for row, kept in zip(tokens, mask, strict=True):
            yield row[kept].to(device="cpu", dtype=torch.bfloat16)


def default_device() -> str:
    """Return `cuda` where there is a GPU, else `cpu`."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def precision(device: str) -> torch.dtype:
    """Return the type of the weights."""
    return torch.float32 if device == "cpu" else torch.bfloat16


def _ahead(prepare: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield prepare(batch) for each batch, always working one batch ahead in a thread."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        pending = None
        for batch in batches:
            following = pool.submit(prepare, batch)
            if pending is not None:
                yield pending.result()
            pending = following
        if pending is not None:
            yield pending.result()
