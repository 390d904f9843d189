"""PyLate's ColBERT and its trainer; in an environment of its own (`make test-pylate`)."""

import numpy as np
import pytest
import torch

models = pytest.importorskip(
    "pylate.models", reason="needs PyLate, which pins sentence-transformers 5.3"
)
losses, rank, utils = (
    pytest.importorskip(f"pylate.{name}") for name in ("losses", "rank", "utils")
)

from mteb_nano.errors import UserError
from mteb_nano.evaluators import NanoViDoReV3Evaluator, OCRMLDREvaluator


@pytest.fixture
def colbert(bert):
    return models.ColBERT(
        str(bert), device="cpu", embedding_size=16, query_length=16, document_length=32
    )


def test_every_page_is_scored_by_max_sim(colbert, pages):
    """The ranking is that of MaxSim over all pages, where PyLate's own index approximates."""
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages)
    evaluator(colbert)
    (search,) = evaluator.material.searches
    ids, asked = list(search.documents["id"]), search.asked[0]
    queries = colbert.encode(list(asked.texts), is_query=True, show_progress_bar=False)
    documents = colbert.encode(
        list(search.documents["text"]), is_query=False, show_progress_bar=False
    )
    reranked = rank.rerank([ids] * len(queries), queries, [documents] * len(queries))
    for query, ranking in zip(asked.ids, reranked, strict=True):
        grades = evaluator.material.qrels[asked.subset][query]
        gains = [grades.get(hit["id"], 0) for hit in ranking[:10]]
        ideal = sorted(grades.values(), reverse=True)
        discounted = [sum(g / np.log2(i + 2) for i, g in enumerate(x)) for x in (gains, ideal)]
        expected = discounted[0] / discounted[1]
        assert evaluator.per_query[asked.subset][query] == pytest.approx(expected, abs=1e-6)


def test_ocr(colbert, texts):
    """OCR data are scored too."""
    evaluator = OCRMLDREvaluator(data=texts)
    assert 0 <= evaluator(colbert)[evaluator.primary_metric] <= 1


def test_images_are_refused(colbert, pages):
    """Image mode is refused at once, since ColBERT reads text."""
    with pytest.raises(UserError, match="markdown"):
        NanoViDoReV3Evaluator(data=pages).check(colbert)


def test_best_checkpoint_of_five_steps(colbert, pages, tmp_path):
    """`evaluator=` of PyLate's training picks the best checkpoint and writes a row a step."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )

    evaluator = NanoViDoReV3Evaluator("markdown", data=pages)
    torch.manual_seed(0)
    train = Dataset.from_dict({"query": list("abcdefgh"), "positive": list("ijklmnop")})
    trainer = SentenceTransformerTrainer(
        model=colbert,
        args=SentenceTransformerTrainingArguments(
            output_dir=str(tmp_path),
            max_steps=5,
            per_device_train_batch_size=4,
            learning_rate=0.01,
            eval_strategy="steps",
            eval_steps=1,
            save_strategy="steps",
            save_steps=1,
            load_best_model_at_end=True,
            metric_for_best_model=f"eval_{evaluator.primary_metric}",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=train,
        loss=losses.Contrastive(model=colbert),
        evaluator=evaluator,
        data_collator=utils.ColBERTCollator(colbert.tokenize),
    )
    trainer.train()
    key = f"eval_{evaluator.primary_metric}"
    scores = {row["step"]: row[key] for row in trainer.state.log_history if key in row}
    assert list(scores) == [1, 2, 3, 4, 5]
    assert trainer.state.best_metric == pytest.approx(max(scores.values()))
    assert evaluator(colbert)[evaluator.primary_metric] == pytest.approx(max(scores.values()))
    lines = (tmp_path / "eval" / f"{evaluator.name}_results.csv").read_text().splitlines()
    assert len(lines) == 6
