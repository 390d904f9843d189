"""How the evaluators are used: names, files, parts, repeated calls, and bad use."""

import csv
import json
import math

import numpy as np
import pytest
import torch
from sentence_transformers.base.evaluation import SequentialEvaluator

from mteb_nano.catalog import NANO_VIDORE_V3
from mteb_nano.errors import UserError
from mteb_nano.evaluators import NanoViDoReV3Evaluator, OCRMLDREvaluator
from mteb_nano.report.statistics import mean_interval
from tests import generate
from tests.evaluators import small_data


@pytest.fixture
def evaluator(pages):
    return NanoViDoReV3Evaluator("markdown", data=pages, batch_size=4)


def test_keys_are_stable_and_few(evaluator, dense, multimodal, texts):
    """Two calls, two models: the same keys in the same order; 20 at most for the published data."""
    first, second = evaluator(dense), evaluator(multimodal)
    assert list(first) == list(second) == evaluator.keys
    assert evaluator.keys[0] == evaluator.primary_metric == "SmallPagesMarkdown_mean_ndcg@10"
    assert {"SmallPagesMarkdown_north_ndcg@10", "SmallPagesMarkdown_seconds"} <= set(first)
    assert all(isinstance(value, float) for value in first.values())
    assert len(OCRMLDREvaluator(data=texts, per_language=True).keys) == 4 + 4 + 2 + 2


def test_keys_of_the_published_shape(tmp_path):
    """8 sources and 6 languages are all logged, with no more than 20 keys."""
    folder = generate.pages(tmp_path / "d", n_queries_per_source=6)
    found = NanoViDoReV3Evaluator("markdown", data=folder, per_language=True)
    logged = " ".join(found.keys)
    assert all(f"_{source}_" in logged for source in NANO_VIDORE_V3.sources)
    assert len(found.keys) == len(set(found.keys)) == 8 + 6 + 4


def test_too_many_groups_are_not_logged(tmp_path):
    """More sources than keys: none of them is logged, rather than an arbitrary few."""
    tables = small_data.page_tables(n_pages=40)
    many = [f"s{i}" for i in range(20)]
    tables["corpus"]["source_dataset"] = [many[i % 20] for i in range(40)]
    tables["queries"]["source_dataset"] = many
    for name in ("_id", "query", "language", "query_format", "source_query_id"):
        values = tables["queries"][name]
        tables["queries"][name] = [f"q{i}" if name == "_id" else values[0] for i in range(20)]
    tables["qrels"] = {
        "query_id": [f"q{i}" for i in range(20)],
        "corpus_id": [f"p{i}" for i in range(20)],
        "score": [1] * 20,
    }
    folder = small_data.write_pages(tmp_path / "d", tables, sources=[{"name": s} for s in many])
    assert len(NanoViDoReV3Evaluator("markdown", data=folder).keys) == 4


def test_mean_and_interval_are_the_reports(evaluator, dense):
    """The mean is that of the sources' means; the limits are the stratified bootstrap's."""
    metrics = evaluator(dense)
    strata = [np.array(list(scores.values())) for scores in evaluator.per_query.values()]
    known = mean_interval(strata, n_resamples=5000)
    values = list(metrics.values())[:3]
    assert values == pytest.approx([known.value, known.low, known.high])
    per_source = list(metrics.values())[3:5]
    assert per_source == pytest.approx([sum(s) / len(s) for s in strata])


def test_files_of_two_steps(evaluator, dense, tmp_path):
    """CSV: a row a call; per_query.jsonl: a line a query; the configuration beside them."""
    for step in (5, 10):
        evaluator(dense, output_path=str(tmp_path / "eval"), epoch=0.5, steps=step)
    rows = list(csv.DictReader((tmp_path / "eval" / "SmallPagesMarkdown_results.csv").open()))
    assert [row["steps"] for row in rows] == ["5", "10"]
    assert set(rows[0]) == {"epoch", "steps", *evaluator.keys}
    lines = [json.loads(line) for line in (tmp_path / "eval" / "per_query.jsonl").open()]
    assert len(lines) == 2 * 8
    assert set(lines[0]) == {
        "task", "data_revision", "subset", "query_id", "metric", "score", "model", "step",
    }  # fmt: skip
    mine = {line["query_id"]: line["score"] for line in lines if line["step"] == 10}
    assert mine == {q: s for scores in evaluator.per_query.values() for q, s in scores.items()}
    config = json.loads((tmp_path / "eval" / "SmallPagesMarkdown_config.json").read_text())
    assert config["mode"] == "markdown"
    assert config["data_revision"] == evaluator.data_revision


def test_a_resumed_run_replaces_its_step(evaluator, dense, pages, tmp_path):
    """After a kill in the middle of a line, a new process writes each step once."""
    evaluator(dense, output_path=tmp_path, steps=5)
    path = tmp_path / "per_query.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    again = NanoViDoReV3Evaluator("markdown", data=pages, batch_size=4)
    again(dense, output_path=tmp_path, steps=5)
    assert sorted(path.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_image_size_is_recorded(pages, multimodal, tmp_path):
    """The image size that the model's processor has in force is in the configuration."""
    evaluator = NanoViDoReV3Evaluator(data=pages, max_image_pixels=500)
    evaluator(multimodal, output_path=tmp_path)
    assert evaluator.name == "SmallPages_part-500pixels"
    config = evaluator.get_config_dict()
    assert config["only_pixels"] == 500
    assert config["model_image_size"]["size"] == {"shortest_edge": 32}


def test_model_card_shows_the_scores(evaluator, dense, tmp_path):
    """A saved model's card has the evaluator's name and its mean."""
    metrics = evaluator(dense)
    dense.save_pretrained(str(tmp_path))
    card = (tmp_path / "README.md").read_text()
    assert "SmallPagesMarkdown" in card
    assert str(round(metrics[evaluator.primary_metric], 4)) in card


def test_in_a_sequence(evaluator, dense, texts):
    """Two evaluators in the library's SequentialEvaluator give both their scores."""
    both = SequentialEvaluator([evaluator, OCRMLDREvaluator(data=texts)])
    metrics = both(dense)
    assert {evaluator.primary_metric, "SmallTexts_mean_ndcg@10"} <= set(metrics)


def test_every_second_call(pages, dense, tmp_path):
    """A call that is skipped gives NaN under all keys and writes nothing: no score is made up."""
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages, every_n_evals=2)
    calls = [evaluator(dense, output_path=tmp_path, steps=i) for i in range(3)]
    assert [math.isnan(c[evaluator.primary_metric]) for c in calls] == [False, True, False]
    assert list(calls[1]) == evaluator.keys
    assert len((tmp_path / f"{evaluator.name}_results.csv").read_text().splitlines()) == 3
    by_hand = evaluator(dense)[evaluator.primary_metric]
    assert by_hand == evaluator(dense)[evaluator.primary_metric] == calls[0][evaluator.keys[0]]


@pytest.mark.parametrize(
    ("arguments", "name", "n_pages", "n_queries"),
    [
        ({}, "SmallPagesMarkdown", 12, 8),
        ({"sources": ["south"]}, "SmallPagesMarkdown_part-south", 12, 4),
        ({"sources": ["south", "north"]}, "SmallPagesMarkdown", 12, 8),
        ({"languages": ["fr"]}, "SmallPagesMarkdown_part-fra", 12, 4),
        ({"languages": ["fr", "en"]}, "SmallPagesMarkdown", 12, 8),
        ({"max_queries": 1}, "SmallPagesMarkdown_part-1queries", 12, 2),
        ({"max_pages": 11}, "SmallPagesMarkdown_part-11pages", 11, 8),
    ],
)
def test_a_part_has_a_name_of_its_own(arguments, name, n_pages, n_queries, pages, dense):
    """What is left out shows in the name, so in every key and file; judged pages stay."""
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages, **arguments)
    evaluator(dense)
    assert evaluator.name == name
    (search,) = evaluator.material.searches
    assert len(search.documents) == n_pages
    assert sum(len(scores) for scores in evaluator.per_query.values()) == n_queries
    judged = {d for qrels in evaluator.material.qrels.values() for q in qrels.values() for d in q}
    assert judged <= set(search.documents["id"])


def test_a_part_is_the_same_every_time(pages):
    """Which queries and pages are left is no matter of order or run."""

    def ids(**arguments):
        (search,) = NanoViDoReV3Evaluator("markdown", data=pages, **arguments).material.searches
        return list(search.documents["id"]), [asked.ids for asked in search.asked]

    assert ids(max_queries=2, max_pages=9) == ids(max_queries=2, max_pages=9)


def test_training_goes_on_as_if_nothing_had_been(evaluator, dense):
    """Mode, gradients, dtype, device and random numbers are the same before and after a call."""
    dense.train()
    features = dense.preprocess(["a text"])
    dense(features)["sentence_embedding"].sum().backward()
    gradients = {n: p.grad.clone() for n, p in dense.named_parameters() if p.grad is not None}
    state = torch.get_rng_state()
    before = [(p.dtype, p.device) for p in dense.parameters()]
    evaluator(dense)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(part.training for part in dense.modules())
    assert [(p.dtype, p.device) for p in dense.parameters()] == before
    assert all(torch.equal(dense.get_parameter(n).grad, g) for n, g in gradients.items())
    dense(dense.preprocess(["a text"]))["sentence_embedding"].sum().backward()  # still trainable


@pytest.mark.parametrize("kind", ["dense", "late"])
def test_an_interrupted_call_leaves_no_trace(kind, pages, tmp_path, request):
    """Ctrl-C in the third batch: the model, the random numbers and the files are as before."""
    model = request.getfixturevalue(kind)
    model.train()
    model[0].model.encoder.layer[0].eval()  # frozen on purpose
    modes = [part.training for part in model.modules()]
    state = torch.get_rng_state()
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages, batch_size=4)
    batches = []

    def interrupt(*_):
        batches.append(1)
        if len(batches) == 3:
            raise KeyboardInterrupt

    handle = model[0].register_forward_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        evaluator(model, output_path=tmp_path)
    handle.remove()
    assert [part.training for part in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()
    assert "preprocess" not in vars(model)
    assert list(tmp_path.iterdir()) == []
    evaluator(model)
    fresh = NanoViDoReV3Evaluator("markdown", data=pages, batch_size=4)
    fresh(model)
    assert evaluator.per_query == fresh.per_query


BAD = [
    ({"mode": "images"}, "mode='images'.*'image'"),
    ({"sources": ["west"]}, "'west'; there are north, south"),
    ({"languages": ["german"]}, "'deu'; there are eng, fra"),
    ({"languages": ["klingonisch"]}, "unknown language"),
    ({"max_pages": 3}, "max_pages=3.*at least"),
    ({"batch_size": 0}, "batch_size=0"),
    ({"max_queries": -1}, "max_queries=-1"),
    ({"every_n_evals": 1.5}, "every_n_evals=1.5"),
    ({"cache_mb": -1}, "cache_mb=-1: expected a whole number of 0 or more"),
    ({"cache_folder": "/no/such"}, "cache_folder='/no/such'"),
    ({"batchsize": 8}, "unknown option batchsize.*batch_size"),
    ({"sources": []}, "sources: unknown none; there are north, south"),
    ({"data": "/no/such/folder"}, "no/such/folder"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_arguments(arguments, message, pages):
    """Each wrong argument is told at once, with what would be right."""
    with pytest.raises(UserError, match=message):
        NanoViDoReV3Evaluator(**{"mode": "markdown", "data": pages, **arguments})


def test_other_kind_of_data(pages, texts):
    """Page data for the OCR evaluator, and the other way round, are refused."""
    with pytest.raises(UserError, match="page-retrieval"):
        OCRMLDREvaluator(data=pages)
    with pytest.raises(UserError, match="ocr-retrieval"):
        NanoViDoReV3Evaluator(data=texts)
    with pytest.raises(UserError, match="'noisy'; there are clean"):
        OCRMLDREvaluator(modes=["noisy"], data=texts)


def test_a_column_is_missing(tmp_path):
    """Data without images, or without languages, name the column that is wanted."""
    blind = small_data.write_pages(tmp_path / "a", drop=[("corpus", "image")])
    with pytest.raises(UserError, match="`image`"):
        NanoViDoReV3Evaluator(data=blind)
    mute = small_data.write_pages(tmp_path / "b", drop=[("queries", "language")])
    with pytest.raises(UserError, match="language"):
        NanoViDoReV3Evaluator("markdown", data=mute, languages=["fr"])


def test_a_model_that_cannot_see(pages, dense, multimodal):
    """A text model in image mode is told of markdown mode before anything is encoded."""
    evaluator = NanoViDoReV3Evaluator(data=pages)
    dense.forward = None  # would fail if it were called
    for call in (evaluator.check, evaluator):
        with pytest.raises(UserError, match="markdown"):
            call(dense)
    evaluator.check(multimodal)
    fused = NanoViDoReV3Evaluator("image+markdown", data=pages)
    with pytest.raises(UserError, match="mode='image' or mode='markdown'"):
        fused.check(multimodal)
    with pytest.raises(UserError, match="encode_queries"):
        evaluator(object())


def test_a_folder_that_cannot_be_is_told_first(evaluator, dense, tmp_path):
    """A path that cannot be a folder is refused before anything is encoded."""
    (tmp_path / "file").write_text("")
    dense.forward = None  # would fail if it were called
    with pytest.raises(UserError, match=r"output_path='.*file/eval'"):
        evaluator(dense, output_path=tmp_path / "file" / "eval")


@pytest.mark.parametrize("kind", ["dense", "late"])
def test_nan_names_the_pages(kind, pages, tmp_path, request):
    """NaN embeddings name the pages; nothing is returned or written."""
    model = request.getfixturevalue(kind)
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages)
    original = model.encode_document

    def broken(texts, **kwargs):
        embeddings = zip(texts, original(texts, **kwargs), strict=True)
        return [vector * (math.nan if "page 3 " in text else 1) for text, vector in embeddings]

    model.encode_document = broken
    with pytest.raises(UserError, match="1 of 12 documents are NaN or infinite: p3;"):
        evaluator(model, output_path=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nan_names_the_queries(evaluator, dense):
    """NaN embeddings of queries name them."""
    original = dense.encode_query
    dense.encode_query = lambda texts, **kwargs: original(texts, **kwargs) * math.nan
    with pytest.raises(UserError, match="4 of 4 queries are NaN or infinite: north-q0"):
        evaluator(dense)


@pytest.mark.parametrize("kind", ["encode_queries", "encode_pages"])
def test_an_embedding_is_missing(kind, evaluator):
    """A model of one's own that drops a text or a page is refused: the rest would be shifted."""

    class Model:
        def encode_queries(self, texts, batch_size):
            return np.ones((len(texts) - (kind == "encode_queries"), 2), dtype=np.float32)

        def encode_pages(self, pages, batch_size):
            return np.ones((len(pages) - (kind == "encode_pages"), 2), dtype=np.float32)

    with pytest.raises(UserError, match="embeddings for"):
        evaluator(Model())
