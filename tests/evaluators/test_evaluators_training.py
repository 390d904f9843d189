"""Five steps of each trainer: the best checkpoint is picked by our score, and it is logged."""

import json
from typing import Any

import pytest
import torch
from datasets import Dataset
from torch import nn
from transformers import (
    PretrainedConfig,
    PreTrainedModel,
    Trainer,
    TrainingArguments,
)

from mteb_nano.errors import UserError
from mteb_nano.evaluators import ColpaliEncoder, NanoEvalCallback, NanoViDoReV3Evaluator
from mteb_nano.evaluators.similarity import max_sim
from tests.evaluators.small_data import page_tables

STEPS = 5


def arguments(cls, folder, metric, **more):
    return cls(
        output_dir=str(folder),
        max_steps=STEPS,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        learning_rate=0.01,
        eval_strategy="steps",
        eval_steps=1,
        save_strategy="steps",
        save_steps=1,
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{metric}",
        greater_is_better=True,
        use_cpu=True,
        disable_tqdm=True,
        seed=0,
        **{"report_to": [], **more},
    )


def logged(trainer, metric):
    """Return step -> score, from what the trainer logged."""
    key = f"eval_{metric}"
    return {row["step"]: row[key] for row in trainer.state.log_history if key in row}


def assert_best_was_loaded(trainer, evaluator, model):
    scores = logged(trainer, evaluator.primary_metric)
    assert list(scores) == list(range(1, STEPS + 1))
    best = max(scores.values())
    assert trainer.state.best_metric == pytest.approx(best)
    step = int(trainer.state.best_model_checkpoint.rsplit("-", 1)[1])
    assert scores[step] == best
    assert evaluator(model)[evaluator.primary_metric] == pytest.approx(best)


def read_tensorboard(folder, tag):
    name = "tensorboard.backend.event_processing.event_accumulator"
    events = pytest.importorskip(name).EventAccumulator(str(folder))
    events.Reload()
    return {event.step: event.value for event in events.Scalars(tag)}


@pytest.mark.parametrize("kind", ["dense", "multimodal", "late", "late_multimodal"])
def test_sentence_transformers_trainers(kind, pages, tmp_path, request):
    """`evaluator=` of both trainers picks the best checkpoint and fills files and model card."""
    import sentence_transformers as library
    from sentence_transformers.multi_vector_encoder import losses as late_losses
    from sentence_transformers.sentence_transformer import losses

    model = request.getfixturevalue(kind)
    late = kind.startswith("late")
    name = "MultiVectorEncoder" if late else "SentenceTransformer"
    loss = (
        late_losses.MultiVectorMultipleNegativesRankingLoss
        if late
        else losses.MultipleNegativesRankingLoss
    )(model)
    mode = "image" if kind.endswith("multimodal") else "markdown"
    evaluator = NanoViDoReV3Evaluator(mode, data=pages)
    corpus = page_tables()["corpus"]
    train = Dataset.from_dict({"query": corpus["_id"], "page": corpus["markdown"]})
    trainer = getattr(library, f"{name}Trainer")(
        model=model,
        args=arguments(
            getattr(library, f"{name}TrainingArguments"), tmp_path, evaluator.primary_metric
        ),
        train_dataset=train,
        loss=loss,
        evaluator=evaluator,
    )
    trainer.train()
    assert_best_was_loaded(trainer, evaluator, model)
    lines = (tmp_path / "eval" / f"{evaluator.name}_results.csv").read_text().splitlines()
    assert len(lines) == 1 + STEPS
    model.save_pretrained(str(tmp_path / "final"))
    assert evaluator.name in (tmp_path / "final" / "README.md").read_text()


class SmallConfig(PretrainedConfig):
    model_type = "small-test-model"


class SmallModel(PreTrainedModel):
    """A plain model with the two methods that the evaluators ask for."""

    config_class = SmallConfig

    def __init__(self, config):
        super().__init__(config)
        self.letters = nn.EmbeddingBag(128, 8)
        self.pixels = nn.Linear(48, 8)
        self.post_init()

    def forward(self, query, page):
        scores = self.letters(query) @ self.pixels(page).T
        return {
            "loss": nn.functional.cross_entropy(scores, torch.arange(len(query))),
            "scores": scores,
        }

    def encode_queries(self, texts, batch_size):
        return torch.stack([self.letters(numbers(text)[None])[0] for text in texts])

    def encode_pages(self, pages, batch_size):
        return self.pixels(torch.stack([look(page) for page in pages]))


def numbers(text):
    return torch.tensor([min(ord(c), 127) for c in text.ljust(20)[:20]])


def look(page):
    small = page.convert("RGB").resize((4, 4))
    return torch.frombuffer(bytearray(small.tobytes()), dtype=torch.uint8).float() / 255


def small_set(n=12):
    from PIL import Image

    rows = [
        {"query": numbers(f"page {i}"), "page": look(Image.new("RGB", (4, 4), (20 * i, 9, 9)))}
        for i in range(n)
    ]
    listed = [{name: value.tolist() for name, value in row.items()} for row in rows]
    made: Any = Dataset.from_list(listed).with_format("torch")
    return made


def test_callback_of_a_plain_trainer(pages, tmp_path):
    """A model of one's own in a transformers Trainer: best checkpoint, and TensorBoard's curve."""
    pytest.importorskip("tensorboard")
    evaluator = NanoViDoReV3Evaluator(data=pages)
    torch.manual_seed(0)
    model = SmallModel(SmallConfig())
    trainer = Trainer(
        model=model,
        args=arguments(
            TrainingArguments, tmp_path, evaluator.primary_metric,
            report_to=["tensorboard"], label_names=[],
        ),
        train_dataset=small_set(),
        eval_dataset={"a": small_set(4), "b": small_set(4)},  # evaluated once for both
    )  # fmt: skip
    NanoEvalCallback(evaluator).attach(trainer)
    trainer.train()
    assert_best_was_loaded(trainer, evaluator, model)
    (log,) = tmp_path.glob("runs/*")
    curve = read_tensorboard(log, f"eval/{evaluator.primary_metric}")
    assert curve == pytest.approx(logged(trainer, evaluator.primary_metric))
    lines = [json.loads(line) for line in (tmp_path / "eval" / "per_query.jsonl").open()]
    assert {line["step"] for line in lines} == set(range(1, STEPS + 1))


def test_callback_of_colpali_engines_trainer(pages, colqwen, tmp_path):
    """A (tiny, random) ColQwen3.5 in `ContrastiveTrainer`: the best checkpoint by our score."""
    from colpali_engine.collators import VisualRetrieverCollator
    from colpali_engine.data import ColPaliEngineDataset
    from colpali_engine.loss import ColbertLoss
    from colpali_engine.models import ColQwen3_5, ColQwen3_5Processor
    from colpali_engine.trainer import ContrastiveTrainer
    from PIL import Image

    model = ColQwen3_5.from_pretrained(colqwen)
    processor = ColQwen3_5Processor.from_pretrained(colqwen)
    rows = [
        {"query": f"page {i}", "pos_target": Image.new("RGB", (32, 32), (20 * i, 0, 99))}
        for i in range(4)
    ]
    data = ColPaliEngineDataset(rows, pos_target_column_name="pos_target")
    evaluator = NanoViDoReV3Evaluator(data=pages)
    trainer = ContrastiveTrainer(
        model=model,
        args=arguments(TrainingArguments, tmp_path, evaluator.primary_metric),
        train_dataset=data,
        eval_dataset=data,
        data_collator=VisualRetrieverCollator(processor),
        loss_func=ColbertLoss(),
        is_vision_model=True,
    )
    NanoEvalCallback(evaluator, processor=processor).attach(trainer)
    trainer.train()
    encoder = ColpaliEncoder(model, processor)
    assert_best_was_loaded(trainer, evaluator, encoder)
    assert evaluator.get_config_dict()["model_image_size"]["size"]["longest_edge"] == 16 * 16 * 64


def test_colpali_pages_are_scored_without_padding(pages, colqwen):
    """Pages and queries embedded in batches score as each embedded alone, which has no padding."""
    from colpali_engine.models import ColQwen3_5, ColQwen3_5Processor
    from PIL import Image

    model = ColQwen3_5.from_pretrained(colqwen).eval()
    processor = ColQwen3_5Processor.from_pretrained(colqwen)
    encoder = ColpaliEncoder(model, processor)
    images = [Image.new("RGB", size, (9, 9, 200)) for size in ((32, 32), (128, 96), (64, 32))]
    queries = ["short", "a much longer question than that"]
    with torch.no_grad():
        together = max_sim(encoder.encode_queries(queries, 2), encoder.encode_pages(images, 3))
        alone = [
            [
                max_sim(encoder.encode_queries([q], 1), encoder.encode_pages([i], 1)).item()
                for i in images
            ]
            for q in queries
        ]
    assert torch.allclose(together, torch.tensor(alone), atol=1e-4)


def test_callback_needs_a_trainer(pages, tmp_path, dense):
    """A callback that has nowhere to log to, and a model that cannot be asked, are told at once."""
    evaluator = NanoViDoReV3Evaluator(data=pages)
    trainer = Trainer(
        model=SmallModel(SmallConfig()),
        args=TrainingArguments(output_dir=str(tmp_path), use_cpu=True, report_to=[]),
        train_dataset=small_set(),
        callbacks=[NanoEvalCallback(evaluator)],
    )
    with pytest.raises(UserError, match="attach"):
        trainer.train()
    with pytest.raises(UserError, match="process_images"):
        NanoEvalCallback(evaluator, processor=dense).attach(trainer)
    trainer.model = nn.Linear(1, 1)
    with pytest.raises(UserError, match="encode_queries"):
        NanoEvalCallback(evaluator).attach(trainer)


def test_eval_steps_without_an_evaluation_set(pages, tmp_path):
    """`eval_steps` of the callback logs scores of a Trainer that evaluates nothing itself."""
    evaluator = NanoViDoReV3Evaluator(data=pages)
    trainer = Trainer(
        model=SmallModel(SmallConfig()),
        args=TrainingArguments(
            output_dir=str(tmp_path), use_cpu=True, report_to=[], max_steps=4, save_strategy="no"
        ),
        train_dataset=small_set(),
    )
    NanoEvalCallback(evaluator, eval_steps=2).attach(trainer)
    trainer.train()
    assert list(logged(trainer, evaluator.primary_metric)) == [2, 4]


def test_two_checkpoints_are_compared(pages, tmp_path, capsys):
    """`mteb-nano compare` reads the scores of two steps of one run, and pairs them by query."""
    from mteb_nano.report.__main__ import main
    from mteb_nano.report.evaluator_files import read_evaluator_file

    evaluator = NanoViDoReV3Evaluator(data=pages)
    for step in (1, 2):
        torch.manual_seed(step)
        evaluator(SmallModel(SmallConfig()), output_path=tmp_path, steps=step)
    results = read_evaluator_file(tmp_path / "per_query.jsonl")
    assert [result.revision for result in results] == ["step 1", "step 2"]
    last = results[1].subsets
    assert {
        name: dict(subset.per_query["ndcg_at_10"]) for name, subset in last.items()
    } == evaluator.per_query
    path = tmp_path / "per_query.jsonl"
    assert main(["compare", f"{path}@1", f"{path}@2", "--json"]) == 0
    assert "step 2" in capsys.readouterr().out
