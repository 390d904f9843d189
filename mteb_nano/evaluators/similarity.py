"""Similarities in single precision, whatever the model computes in."""

from collections.abc import Sequence
from typing import Any

import torch

Embeddings = Any  # (n, dim) tensor or array, or n matrices of (n_tokens, dim)
# Values of the (query tokens, document tokens) product that are held at once: 400 MB.
_MAX_VALUES = 100_000_000


def similarity(queries: Embeddings, documents: Embeddings) -> torch.Tensor:
    """Return dot products of single vectors, or MaxSim of matrices of token vectors.

    bfloat16 would leave a few dozen distinct values, and ties would decide the ranking.

    Args:
        queries: (n_queries, dim), or one (n_tokens, dim) matrix a query.
        documents: The same for documents.

    Returns:
        (n_queries, n_documents), float32, on the CPU.
    """
    if is_single(queries):
        return (as_float32(queries) @ as_float32(documents).T).cpu()
    return max_sim([as_float32(q) for q in queries], [as_float32(d) for d in documents]).cpu()


def is_single(embeddings: Embeddings) -> bool:
    """Return whether there is one vector for each text or page, not one for each token."""
    return getattr(embeddings, "ndim", None) == 2 or (  # noqa: PLR2004
        not hasattr(embeddings, "ndim") and getattr(embeddings[0], "ndim", None) == 1
    )


def as_float32(embeddings: Any) -> torch.Tensor:
    """Return a tensor in float32."""
    if isinstance(embeddings, list | tuple):
        return torch.stack([as_float32(e) for e in embeddings])
    return torch.as_tensor(embeddings).detach().float()


def max_sim(queries: Sequence[torch.Tensor], documents: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return, for each pair, the sum over query tokens of the best dot product with a token.

    Nothing is padded: a padded zero would beat every negative product.

    Args:
        queries: One (n_tokens, dim) matrix each, at least one token.
        documents: As `queries`.

    Source: ColBERT, https://arxiv.org/abs/2004.12832.
    """
    tokens = torch.cat(list(queries))
    owner = torch.repeat_interleave(
        torch.arange(len(queries)), torch.tensor([len(q) for q in queries])
    )
    scores = torch.empty(len(queries), len(documents))
    for start, end in _blocks([len(d) for d in documents], _MAX_VALUES // max(1, len(tokens))):
        best = _best_products(tokens, documents[start:end])
        sums = torch.zeros(len(queries), end - start).index_add_(0, owner, best.cpu())
        scores[:, start:end] = sums
    return scores


def _best_products(tokens: torch.Tensor, documents: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return (n_tokens, n_documents): the best product of each query token in each document."""
    products = tokens @ torch.cat(list(documents)).to(tokens.device).T
    parts = products.split([len(d) for d in documents], dim=1)
    return torch.stack([part.amax(dim=1) for part in parts], dim=1)


def _blocks(lengths: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Return ranges of documents with at most this many tokens together, one at least."""
    blocks, start, size = [], 0, 0
    for index, length in enumerate(lengths):
        if size and size + length > most:
            blocks.append((start, index))
            start, size = index, 0
        size += length
    return [*blocks, (start, len(lengths))]
