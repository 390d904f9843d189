"""Ranking, similarity, images, state: the parts of an evaluation, each on its own."""

import io
import random

import datasets
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mteb_nano.errors import UserError
from mteb_nano.evaluators.images import PageImages
from mteb_nano.evaluators.scoring import ndcg_at_10
from mteb_nano.evaluators.similarity import max_sim, similarity
from mteb_nano.evaluators.state import left_as_found
from tests.evaluators.small_data import png


def test_graded_ndcg_by_hand():
    """Gains are the grades: a page of grade 2 at rank 2 and one of grade 1 at rank 1."""
    scores = torch.tensor([[0.9, 0.8, 0.1]])
    found = ndcg_at_10(scores, ["q"], ["a", "b", "c"], {"q": {"a": 1, "b": 2}})
    dcg, ideal = 1 / np.log2(2) + 2 / np.log2(3), 2 / np.log2(2) + 1 / np.log2(3)
    assert found["q"] == pytest.approx(dcg / ideal, abs=1e-9)


@pytest.mark.parametrize(("relevant", "rank"), [("z", 1), ("a", 2)])
def test_ties_go_to_the_larger_id(relevant, rank):
    """Equal scores are ranked by descending id, as trec_eval does, whatever their order here."""
    for ids in (["a", "z"], ["z", "a"]):
        found = ndcg_at_10(torch.ones(1, 2), ["q"], ids, {"q": {relevant: 1}})
        assert found["q"] == pytest.approx(1 / np.log2(rank + 1))


@given(data=st.data(), n=st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_ndcg_is_that_of_the_whole_ranking(data, n):
    """Only the ten best and their ties are ranked; the score is that of the whole ranking."""
    import pytrec_eval

    levels = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    grades = data.draw(st.dictionaries(st.integers(0, n - 1), st.integers(1, 2), min_size=1))
    ids = [f"d{i}" for i in range(n)]
    qrels = {"q": {ids[i]: grade for i, grade in grades.items()}}
    run = {"q": {i: float(level) for i, level in zip(ids, levels, strict=True)}}
    whole = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
    assert ndcg_at_10(torch.tensor([levels]).float(), ["q"], ids, qrels)["q"] == pytest.approx(
        whole["q"]["ndcg_cut_10"]
    )


def test_max_sim_is_its_definition():
    """Ragged token matrices: the sum over query tokens of the best product, nothing padded."""
    make = torch.Generator().manual_seed(0)
    queries = [torch.randn(n, 4, generator=make) for n in (3, 1, 5)]
    pages = [torch.randn(n, 4, generator=make) for n in (2, 7, 1, 3)]
    slow = [[sum(max(float(t @ u) for u in p) for t in q) for p in pages] for q in queries]
    assert torch.allclose(max_sim(queries, pages), torch.tensor(slow), atol=1e-5)


def test_max_sim_beside_longer_pages_can_be_negative():
    """A page whose every product is negative keeps its score beside a longer page."""
    query, page = torch.ones(8, 1), -torch.ones(1, 1)
    longer = torch.ones(3, 1)
    assert max_sim([query], [page, longer]).tolist() == [[-8.0, 8.0]]


def test_similarity_is_float32_of_half_precision():
    """bfloat16 vectors that differ in bits that bfloat16 products lose are told apart."""
    queries = torch.tensor([[1.0, 1.0]], dtype=torch.bfloat16)
    pages = torch.tensor([[1.0, 0.0], [1.0, 0.001]], dtype=torch.bfloat16)
    assert (queries @ pages.T).unique().numel() == 1
    scores = similarity(queries, pages)
    assert scores.dtype == torch.float32
    assert scores[0, 1] > scores[0, 0]


def pages_of(*images):
    columns = {
        "id": [f"p{i}" for i in range(len(images))],
        "image": [{"bytes": image, "path": None} for image in images],
    }
    return datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())


@pytest.mark.parametrize("memory_mb", [1000, 0])
def test_images_are_decoded_once(memory_mb, tmp_path):
    """From memory and from the file, a page comes back with the pixels of its first look."""
    images = PageImages(pages_of(png(1), png(2)), memory_mb=memory_mb, folder=tmp_path)
    first = [np.asarray(images[i]) for i in (0, 1)]
    again = [np.asarray(images[i]) for i in (0, 1)]
    assert images.n_decoded == 2
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert np.array_equal(first[0], np.asarray(Image.open(io.BytesIO(png(1)))))
    assert list(tmp_path.iterdir()) == []  # the file has no name: a killed process leaves nothing


def test_larger_images_are_made_smaller_once():
    """A limit on pixels holds, keeps the shape, and leaves smaller images alone."""
    images = PageImages(pages_of(png(1, (200, 100)), png(2, (20, 10))), max_pixels=5000)
    assert images[0].size == (100, 50)
    assert images[1].size == (20, 10)
    assert images[0].size == (100, 50)
    assert images.n_decoded == 2


def test_palette_images_are_not_kept():
    """An image whose bytes alone do not make it (a palette) is decoded anew, not kept wrongly."""
    out = io.BytesIO()
    Image.open(io.BytesIO(png(3))).quantize(16).save(out, "PNG")
    images = PageImages(pages_of(out.getvalue()))
    first, again = images[0], images[0]
    assert first.mode == again.mode == "P"
    assert np.array_equal(np.asarray(first.convert("RGB")), np.asarray(again.convert("RGB")))


def test_a_broken_image_is_named():
    """A page that cannot be decoded is named, with its fault."""
    images = PageImages(pages_of(png(1), png(2)[:60]))
    with pytest.raises(UserError, match="p1"):
        images[1]


def test_state_is_left_as_found():
    """Modes of all modules, waiting gradients and four random states survive, also an error."""
    weights = torch.nn.Linear(2, 2)
    model = torch.nn.Sequential(weights, torch.nn.Dropout())
    model[1].eval()  # frozen on purpose; model.train() would wake it
    model(torch.ones(1, 2)).sum().backward()
    assert weights.weight.grad is not None
    gradient = weights.weight.grad.clone()

    def numbers():
        return random.random(), float(np.random.rand()), float(torch.rand(()))  # noqa: NPY002

    before = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    expected = numbers()
    random.setstate(before[0])
    np.random.set_state(before[1])  # noqa: NPY002
    torch.set_rng_state(before[2])

    def evaluate_and_fail():
        with left_as_found(model):
            assert not model[0].training
            assert not model(torch.ones(1, 2)).requires_grad
            numbers()
            raise KeyError

    with pytest.raises(KeyError):
        evaluate_and_fail()
    assert [part.training for part in model] == [True, False]
    assert model.training
    assert torch.equal(weights.weight.grad, gradient)
    assert numbers() == expected
