"""Late-interaction scores, against the definition in float64 and colpali-engine's own."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from builders.vidore.maxsim import MaxSim


def random_vectors(generator, n, dim=16):
    return torch.nn.functional.normalize(torch.randn(n, dim, generator=generator), dim=-1)


def by_definition(query, page):
    """Sum over query tokens of the best dot product with a page token, in float64."""
    return (query.double() @ page.double().T).max(dim=1).values.sum()


@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=4),
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
    st.integers(0, 1000),
)
def test_scores_are_the_definition(query_lengths, page_lengths, seed):
    """Any lengths, also of queries longer than a block; no padding enters the maximum."""
    generator = torch.Generator().manual_seed(seed)
    queries = [random_vectors(generator, n) for n in query_lengths]
    pages = [random_vectors(generator, n) for n in page_lengths]
    scores = MaxSim(queries).score(torch.cat(pages), page_lengths)
    expected = torch.stack([torch.stack([by_definition(q, p) for p in pages]) for q in queries])
    torch.testing.assert_close(scores.double(), expected, atol=1e-5, rtol=1e-5)


def test_negative_similarities_are_not_padded_away():
    """A page that points away from the query scores -1; a padded zero would make it 0."""
    query, short, long = torch.tensor([[1.0, 0.0]]), [[-1.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]]
    scores = MaxSim([query]).score(torch.tensor(short + long), [1, 2])
    assert scores.tolist() == [[-1.0, 0.0]]


def test_same_as_colpali_engine(colpali_engine):
    """`score_multi_vector` gives the same to 1e-5 where its zero padding does no harm."""
    from colpali_engine.utils.processing_utils import BaseVisualRetrieverProcessor

    generator = torch.Generator().manual_seed(0)
    queries = [random_vectors(generator, n, 320) for n in (25, 41, 56)]
    pages = [random_vectors(generator, n, 320) for n in (600, 650, 700, 800)]
    scores = MaxSim(queries).score(torch.cat(pages), [len(page) for page in pages])
    theirs = BaseVisualRetrieverProcessor.score_multi_vector(queries, pages, device="cpu")
    torch.testing.assert_close(scores, theirs, atol=1e-5, rtol=1e-5)


def test_a_page_scores_the_same_in_any_company():
    """The scores of a page are bit-identical alone and beside others: shards may have any size."""
    generator = torch.Generator().manual_seed(1)
    queries = [random_vectors(generator, n) for n in (9, 31)]
    pages = [random_vectors(generator, n).bfloat16() for n in (12, 70, 33)]
    max_sim = MaxSim(queries)
    together = max_sim.score(torch.cat(pages), [len(page) for page in pages])
    alone = torch.cat([max_sim.score(page, [len(page)]) for page in pages], dim=1)
    assert torch.equal(together, alone)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_gpu_scores_are_the_cpu_scores():
    """On a GPU the same float32 scores come out."""
    generator = torch.Generator().manual_seed(2)
    queries = [random_vectors(generator, n, 320) for n in (20, 300)]
    pages = [random_vectors(generator, n, 320) for n in (700, 650)]
    scores = [MaxSim(queries, d).score(torch.cat(pages), [700, 650]) for d in ("cpu", "cuda")]
    torch.testing.assert_close(*scores, atol=1e-4, rtol=1e-4)
