"""Models of every kind that mteb searches with, small and seeded, that count what they encode."""

import hashlib

import numpy as np
import torch
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.models.sentence_transformer_wrapper import MultiVectorSearchEncoderWrapper
from mteb.types import PromptType


def meta(name, similarity=ScoringFunction.COSINE, modalities=("text",)):
    return ModelMeta.create_empty(
        overwrites={
            "name": f"fake/{name}",
            "revision": "1",
            "modalities": list(modalities),
            "similarity_fn_name": similarity,
        }
    )


def word_vector(word, dim=32):
    seed = int(hashlib.md5(word.encode()).hexdigest()[:8], 16)  # noqa: S324
    return np.random.default_rng(seed).standard_normal(dim).astype("float32")


class Counted:
    """Counts calls and documents; `fail_at` raises at that document call, as a crash would."""

    def __init__(self, name, similarity=ScoringFunction.COSINE, fail_at=None):
        self.mteb_model_meta = meta(name, similarity)
        self.document_calls = 0
        self.documents = 0
        self.query_calls = 0
        self.seen = []
        self.fail_at = fail_at

    def count(self, texts, prompt_type):
        if prompt_type == PromptType.document:
            self.document_calls += 1
            self.documents += len(texts)
            self.seen += texts
            if self.document_calls == self.fail_at:
                raise RuntimeError("out of memory (simulated)")
        else:
            self.query_calls += 1


class Dense(Counted):
    """Bag of words; the batch's mean is mixed in, so that batching shows in the last bits."""

    def __init__(self, name="dense", **kwargs):
        super().__init__(name, **kwargs)

    def encode(self, inputs, *, prompt_type=None, **kwargs):
        out, seen = [], []
        for batch in inputs:
            texts = list(batch["text"])
            seen += texts
            vectors = np.stack([np.mean([word_vector(w) for w in t.split()], 0) for t in texts])
            out.append(torch.from_numpy(vectors + 1e-4 * vectors.mean(0)))
        self.count(seen, prompt_type)
        return torch.cat(out)

    def similarity(self, a, b):
        normal = torch.nn.functional.normalize
        return normal(torch.as_tensor(a), dim=-1) @ normal(torch.as_tensor(b), dim=-1).T

    def similarity_pairwise(self, a, b):
        return torch.diagonal(self.similarity(a, b))


class Padded(Dense):
    """Late interaction, one padded tensor a call: queries of a subset share their padding."""

    def __init__(self, **kwargs):
        super().__init__("padded", **kwargs)

    def encode(self, inputs, *, prompt_type=None, **kwargs):
        texts = [text for batch in inputs for text in batch["text"]]
        self.count(texts, prompt_type)
        tokens = [
            torch.from_numpy(np.stack([word_vector(w, 16) for w in t.split()])) for t in texts
        ]
        return torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True)

    def similarity(self, a, b):
        return torch.stack([torch.einsum("td,ned->nte", q, b).amax(-1).sum(-1) for q in a])


class Ragged(Counted, MultiVectorSearchEncoderWrapper):
    """Late interaction, a list of tensors of their own lengths, behind `_encode`."""

    def __init__(self, **kwargs):
        super().__init__("ragged", ScoringFunction.MAX_SIM, **kwargs)

    def _encode(self, inputs, *, prompt_type=None, **kwargs):
        texts = [text for batch in inputs for text in batch["text"]]
        self.count(texts, prompt_type)
        return [torch.from_numpy(np.stack([word_vector(w, 16) for w in t.split()])) for t in texts]

    def similarity(self, a, b):
        padded = torch.nn.utils.rnn.pad_sequence(list(b), batch_first=True)
        return torch.stack([torch.einsum("td,ned->nte", q, padded).amax(-1).sum(-1) for q in a])


class Cross(Counted):
    """A reranker: the share of words that two texts have in common."""

    def __init__(self, **kwargs):
        super().__init__("cross", None, **kwargs)

    def predict(self, inputs1, inputs2, **kwargs):
        pairs = [
            (query, document)
            for one, two in zip(inputs1, inputs2, strict=True)
            for query, document in zip(one["text"], two["text"], strict=True)
        ]
        return np.array([len(set(q.split()) & set(d.split())) / 9 for q, d in pairs])
