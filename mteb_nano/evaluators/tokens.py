"""Token ids of texts, kept from one evaluation to the next: long documents take long to cut."""

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any

import torch

from mteb_nano.evaluators.fit import transformer_of

Features = dict[str, Any]
# What a batch of texts becomes; where a tokenizer gives more, it is asked each time.
_PLAIN = {"input_ids", "attention_mask", "token_type_ids", "modality", "prompt_length"}


class TokenIds:
    """Features of batches of texts, of one tokenizer and its settings at a time.

    Args:
        memory_mb: Memory for them, in millions of bytes; texts beyond it are tokenized each time.
    """

    def __init__(self, memory_mb: int) -> None:
        self._bytes = memory_mb * 1_000_000
        self._kept: dict[Any, Features] = {}
        self._left = self._bytes
        self._settings: Any = None
        self.n_asked = 0  # batches that the tokenizer was asked for

    @contextlib.contextmanager
    def kept_for(self, model: Any) -> Iterator[None]:
        """Answer for a sentence-transformers model's `preprocess` where the answer is known."""
        settings = _settings(model)
        if settings is None:
            yield
            return
        if settings != self._settings:
            self._settings, self._kept, self._left = settings, {}, self._bytes
        original = model.preprocess

        def preprocess(inputs: Any, *args: Any, **kwargs: Any) -> Features:
            if not all(isinstance(text, str) for text in inputs):
                return original(inputs, *args, **kwargs)
            key = (tuple(inputs), repr(args), repr(sorted(kwargs.items())))
            if key not in self._kept:
                self.n_asked += 1
                features = original(inputs, *args, **kwargs)
                self._keep(key, features)
                return features
            return _copy(self._kept[key])

        model.preprocess = preprocess
        try:
            yield
        finally:
            del model.preprocess

    def _keep(self, key: Any, features: Features) -> None:
        size = sum(v.nbytes for v in features.values() if isinstance(v, torch.Tensor))
        if size <= self._left and features.keys() <= _PLAIN:
            self._left -= size
            self._kept[key] = _copy(features)


def _copy(features: Features) -> Features:
    """Return the same in other tensors: modules write into those that they get."""
    return {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in features.items()}


def _settings(model: Any) -> Any:
    """Return all that decides what a text's tokens are; None where that is not known."""
    first = transformer_of(model)
    tokenizer = getattr(first, "processor", None)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    known = type(tokenizer).__module__.startswith("transformers.")
    if backend is None or not known:
        return None
    # Before the added tokens stand the lengths of the last call.
    _, _, rules = backend.to_str().partition('"added_tokens"')
    names = ("chat_template", "model_input_names", "split_special_tokens")
    return (
        hashlib.blake2b(rules.encode()).digest(),
        repr(tokenizer),
        repr([getattr(tokenizer, name, None) for name in names]),
        repr(first.get_config_dict()),
        (first.max_seq_length, first.can_flatten_inputs),
    )
