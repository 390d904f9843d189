"""The evaluators' scores are mteb's."""

import numpy as np
import pytest
import torch
from mteb.models import ModelMeta, SentenceTransformerEncoderWrapper
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ScoringFunction
from mteb.models.sentence_transformer_wrapper import MultiVectorWrapper
from sentence_transformers import MultiVectorEncoder, SentenceTransformer

from mteb_nano.evaluators import NanoViDoReV3Evaluator, OCRMLDREvaluator
from mteb_nano.folder_tasks import sample_tasks, tasks_of
from tests.evaluators import tiny_vision
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


def page_task(folder, mode):
    return next(task for task in tasks_of(folder) if getattr(task, "mode", None) == mode)()


def seeing(model):
    """Return mteb's wrapper, told that the model sees images, as a registered model's is."""
    late = isinstance(model, MultiVectorEncoder)
    wrapped = (MultiVectorWrapper if late else SentenceTransformerEncoderWrapper)(model)
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


@pytest.mark.parametrize(
    ("save", "mode"),
    [
        (tiny_vision.save_qwen, "image"),
        (tiny_vision.save_qwen, "image+markdown"),
        (tiny_vision.save_colqwen2, "image"),
    ],
)
def test_late_interaction_of_images(save, mode, pages, models):
    """A MultiVectorEncoder that sees pages (by a chat template, or a ColQwen2) scores as mteb's."""
    torch.manual_seed(0)  # the library adds a random projection to a Qwen2-VL
    folder = models / save.__name__
    model = MultiVectorEncoder(str(folder if folder.exists() else save(folder)), device="cpu")
    expected = per_query(page_task(pages, mode), seeing(model), batch_size=BATCH)
    evaluator = NanoViDoReV3Evaluator(mode, data=pages, batch_size=BATCH)
    assert_same(evaluator, model, expected)
    assert_same(evaluator, model, expected)
    assert len({score for scores in expected.values() for score in scores.values()}) > 3


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
    expected = per_query(page_task(pages, "markdown"), dense, batch_size=BATCH)
    assert_same(evaluator, dense, expected)
    assert evaluator.per_query != plain


def test_half_precision_is_compared_in_float32(pages, dense):
    """A bfloat16 model's similarities are computed in float32, as mteb's are."""
    dense.bfloat16()
    expected = per_query(page_task(pages, "markdown"), dense, batch_size=BATCH)
    assert_same(NanoViDoReV3Evaluator("markdown", data=pages, batch_size=BATCH), dense, expected)


PROMPTS = {"query": "ask: ", "document": "read: ", "other": "also: "}
WAYS = {
    "dot products": (SentenceTransformer, {"similarity_fn_name": "dot"}),
    "distances": (SentenceTransformer, {"similarity_fn_name": "euclidean"}),
    "fewer dimensions": (SentenceTransformer, {"truncate_dim": 8}),
    "prompts": (SentenceTransformer, {"prompts": PROMPTS, "default_prompt_name": "other"}),
    "half precision": (SentenceTransformer, {"model_kwargs": {"dtype": "float16"}}),
    "late, bfloat16": (MultiVectorEncoder, {"model_kwargs": {"dtype": "bfloat16"}}),
    "late, prompts": (MultiVectorEncoder, {"prompts": PROMPTS}),
    "late, mean": (MultiVectorEncoder, {"similarity_fn_name": "meanmaxsim"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_settings_of_a_model(way, pages, bert):
    """Whatever a model is told of similarity, size, precision and prompts holds here too."""
    cls, settings = WAYS[way]
    model = cls(str(bert), device="cpu", **settings)
    expected = per_query(page_task(pages, "markdown"), model, batch_size=BATCH)
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages, batch_size=BATCH)
    assert_same(evaluator, model, expected)
    assert_same(evaluator, model, expected)


@pytest.mark.parametrize("inside", [torch.no_grad(), torch.inference_mode()])
def test_inside_of_other_modes(inside, pages, dense):
    """A caller that has switched gradients off gets the same score, and can train afterwards."""
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages)
    plain = (evaluator(dense), evaluator.per_query)[1]
    with inside:
        evaluator(dense)
    assert evaluator.per_query == plain
    dense(dense.preprocess(["a text"]))["sentence_embedding"].sum().backward()


def test_inside_of_autocast(pages, dense):
    """Under autocast the score is that of mteb under autocast."""
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages, batch_size=BATCH)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = per_query(page_task(pages, "markdown"), dense, batch_size=BATCH)
        assert_same(evaluator, dense, expected)
        assert torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("mode", ["image", "markdown", "image+markdown"])
def test_a_model_of_ones_own(mode, pages):
    """A model with `encode_queries` and `encode_pages` gets the pages that mteb's models get."""
    expected = per_query(page_task(pages, mode), ForMteb(), batch_size=BATCH)
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
