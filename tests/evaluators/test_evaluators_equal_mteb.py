"""The evaluators' scores are mteb's."""

import numpy as np
import pytest
from mteb.models import ModelMeta, SentenceTransformerEncoderWrapper
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ScoringFunction

from mteb_nano.evaluators import NanoViDoReV3Evaluator, OCRMLDREvaluator
from mteb_nano.folder_tasks import sample_tasks, tasks_of
from tests.evaluators.mteb_scores import per_query

BATCH = 5  # does not divide the corpora, so the last batch is a short one
TOLERANCE = 1e-9


def assert_same(evaluator, model, expected):
    metrics = evaluator(model)
    assert expected.keys() == evaluator.per_query.keys()
    for subset, scores in expected.items():
        assert evaluator.per_query[subset] == pytest.approx(scores, abs=TOLERANCE, rel=0)
    means = [sum(scores.values()) / len(scores) for scores in expected.values()]
    mean = sum(means) / len(means)
    assert metrics[evaluator.primary_metric] == pytest.approx(mean, abs=TOLERANCE, rel=0)


def sample_task(name):
    return next(task for task in sample_tasks() if task.metadata.name == name)()


def seeing(model):
    """Return mteb's wrapper, told that the model sees images, as a registered model's is."""
    wrapped = SentenceTransformerEncoderWrapper(model)
    meta = wrapped.mteb_model_meta.model_copy(update={"modalities": ["text", "image"]})
    wrapped.mteb_model_meta = meta
    return wrapped


@pytest.mark.parametrize("kind", ["dense", "late"])
def test_markdown_of_the_sample(kind, request):
    """Dense and late-interaction scores of the sample's markdown are `mteb.evaluate`'s to 1e-9."""
    model = request.getfixturevalue(kind)
    expected = per_query(sample_task("NanoViDoReV3SampleMarkdown"), model, batch_size=BATCH)
    evaluator = NanoViDoReV3Evaluator("markdown", data="sample", batch_size=BATCH)
    assert_same(evaluator, model, expected)


def test_images_of_the_sample_twice(multimodal):
    """Scores of page images are `mteb.evaluate`'s to 1e-9, at the first look and from the cache."""
    expected = per_query(sample_task("NanoViDoReV3Sample"), seeing(multimodal), batch_size=BATCH)
    evaluator = NanoViDoReV3Evaluator(data="sample", batch_size=BATCH)
    assert_same(evaluator, multimodal, expected)
    assert_same(evaluator, multimodal, expected)


@pytest.mark.parametrize("kind", ["dense", "late"])
def test_ocr(kind, texts, request):
    """Every OCR mode asks the right corpus the right queries, encoding each of them once."""
    model = request.getfixturevalue(kind)
    expected = per_query(tasks_of(texts)[0](), model, batch_size=BATCH)
    assert_same(OCRMLDREvaluator(data=texts, batch_size=BATCH), model, expected)


def test_prompts_are_the_tasks(pages, dense):
    """A prompt for a type of task and kind of text is used where `mteb run` uses it."""
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages, batch_size=BATCH)
    evaluator(dense)
    plain = evaluator.per_query
    dense.prompts = {"Retrieval-query": "look for: ", "document": "read this: "}
    task = next(t for t in tasks_of(pages) if t.metadata.name == "SmallPagesMarkdown")
    expected = per_query(task(), dense, batch_size=BATCH)
    assert_same(evaluator, dense, expected)
    assert evaluator.per_query != plain


def test_half_precision_is_compared_in_float32(pages, dense):
    """A bfloat16 model's similarities are computed in float32, as mteb's are."""
    dense.bfloat16()
    task = next(t for t in tasks_of(pages) if t.metadata.name == "SmallPagesMarkdown")
    expected = per_query(task(), dense, batch_size=BATCH)
    assert_same(NanoViDoReV3Evaluator("markdown", data=pages, batch_size=BATCH), dense, expected)


@pytest.mark.parametrize("mode", ["image", "markdown", "image+markdown"])
def test_a_model_of_ones_own(mode, pages):
    """A model with `encode_queries` and `encode_pages` gets the pages that mteb's models get."""
    name = {"image": "SmallPages", "markdown": "SmallPagesMarkdown"}.get(
        mode, "SmallPagesImageMarkdown"
    )
    task = next(t for t in tasks_of(pages) if t.metadata.name == name)
    expected = per_query(task(), ForMteb(), batch_size=BATCH)
    assert_same(NanoViDoReV3Evaluator(mode, data=pages, batch_size=BATCH), Pixels(), expected)


def embed(image=None, text=None):
    """Return a vector of an image's first bytes and a text's letters."""
    picture = np.zeros(64) if image is None else np.asarray(image.convert("RGB")).ravel()[:64] / 255
    letters = np.bincount(np.frombuffer((text or "").encode(), np.uint8), minlength=128)
    return np.concatenate([picture - 0.5, letters / 10]).astype(np.float32)


class Pixels:
    """A model of one's own, with dot products."""

    def encode_queries(self, texts, batch_size):
        return np.stack([embed(text=text) for text in texts])

    def encode_pages(self, pages, batch_size):
        keyed = [
            p if isinstance(p, dict) else {"text" if isinstance(p, str) else "image": p}
            for p in pages
        ]
        return np.stack([embed(**page) for page in keyed])


class ForMteb(AbsEncoder):
    """The same as an mteb model."""

    mteb_model_meta = ModelMeta.create_empty(
        overwrites={
            "name": "test/pixels",
            "revision": "1",
            "modalities": ["text", "image"],
            "similarity_fn_name": ScoringFunction.DOT_PRODUCT,
        }
    )

    def encode(self, inputs, **kwargs):
        rows = []
        for batch in inputs:
            columns = {name: batch[name] for name in ("image", "text") if name in batch}
            rows += [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ]
        return np.stack([embed(**row) for row in rows])
