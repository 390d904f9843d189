"""Late-interaction scores: for each query token its best page token, summed. No padding at all."""

from collections.abc import Sequence

import torch

# One GEMM of a page with 256 query tokens fits in the cache of a core; wider blocks are slower.
_QUERY_BLOCK = 256


class MaxSim:
    """Scores pages for a fixed list of queries, in float32, one page at a time.

    A page's scores depend on this page and the queries alone: not on the pages beside it.
    """

    def __init__(self, queries: Sequence[torch.Tensor], device: str = "cpu") -> None:
        """Take the queries, each (n_tokens, dim), at least one token."""
        lengths = torch.tensor([len(query) for query in queries])
        tokens = torch.cat(list(queries)).to(device=device, dtype=torch.float32)
        self._blocks = [block.T.contiguous() for block in tokens.split(_QUERY_BLOCK)]
        self._query_of = torch.repeat_interleave(torch.arange(len(queries)), lengths).to(device)
        self._n_queries = len(queries)
        self._device = device

    def score(self, tokens: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the scores of pages.

        Args:
            tokens: (sum of lengths, dim), the pages' tokens one after the other, any float type.
            lengths: Tokens of each page, all at least one.

        Returns:
            (n_queries, n_pages) float32 on the CPU.
        """
        best = torch.empty(len(lengths), len(self._query_of), device=self._device)
        for row, stored in enumerate(tokens.split(list(lengths))):
            page = stored.to(device=self._device, dtype=torch.float32)
            start = 0
            for block in self._blocks:
                stop = start + block.shape[1]
                torch.amax(page @ block, dim=0, out=best[row, start:stop])
                start = stop
        scores = torch.zeros(len(lengths), self._n_queries, device=self._device)
        return scores.index_add_(1, self._query_of, best).T.contiguous().cpu()
