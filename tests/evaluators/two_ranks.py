"""Run as one of two processes, told apart by `RANK`: `python two_ranks.py DATA BERT OUT`."""

import json
import sys
from pathlib import Path

import mteb  # noqa: F401
import numpy as np
import torch
import torch.distributed as dist

from mteb_nano.errors import UserError
from mteb_nano.evaluators import NanoViDoReV3Evaluator


class Model:
    """Counts its calls; fails on request."""

    def __init__(self, case):
        self.case, self.calls = case, 0

    def encode_queries(self, texts, batch_size):
        self.calls += 1
        return self._embed(texts)

    def encode_pages(self, pages, batch_size):
        embeddings = self._embed(pages)
        return embeddings * np.nan if self.case == "nan" else embeddings

    def _embed(self, texts):
        vectors = [np.random.default_rng(list(text.encode())).normal(size=8) for text in texts]
        return np.array(vectors, dtype=np.float32)


class Sharded(Model):
    """A model whose parameters are spread over the ranks, as FSDP2 does."""

    def __init__(self, case):
        super().__init__(case)
        from torch.distributed.fsdp import fully_shard

        self.module = torch.nn.Linear(8, 8)
        fully_shard(self.module)

    def _embed(self, texts):
        vectors = torch.from_numpy(super()._embed(texts))
        with torch.no_grad():
            return self.module(vectors).detach().numpy()  # hangs unless both ranks come here


def ask(case, data, out):
    """Evaluate a model, and write down what this rank got."""
    out.mkdir(parents=True, exist_ok=True)
    evaluator = NanoViDoReV3Evaluator("markdown", data=data, model_name="m")
    torch.manual_seed(0)
    model = (Sharded if case == "sharded" else Model)(case)
    answer = {}
    try:
        answer["metrics"] = evaluator(model, output_path=out, steps=3)
    except UserError as error:
        answer["error"] = str(error)
    answer["calls"] = model.calls
    (out / f"rank{dist.get_rank()}.json").write_text(json.dumps(answer))


def train(data, bert, out):
    """Train for two steps with the library's own trainer, which shares encoding over the ranks."""
    import datasets
    import sentence_transformers as library
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    model = library.SentenceTransformer(bert, device="cpu")
    evaluator = NanoViDoReV3Evaluator("markdown", data=data)
    pairs = datasets.Dataset.from_dict({"a": list("abcdefgh"), "b": list("ijklmnop")})
    trainer = library.SentenceTransformerTrainer(
        model=model,
        args=library.SentenceTransformerTrainingArguments(
            output_dir=str(out),
            max_steps=2,
            per_device_train_batch_size=2,
            eval_strategy="steps",
            eval_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            ddp_backend="gloo",
            disable_tqdm=True,
        ),
        train_dataset=pairs,
        loss=MultipleNegativesRankingLoss(model),
        evaluator=evaluator,
    )
    trainer.train()
    key = f"eval_{evaluator.primary_metric}"
    logged = [row[key] for row in trainer.state.log_history if key in row]
    (out / f"rank{dist.get_rank()}.json").write_text(json.dumps({"scores": logged}))


def main(data, bert, out):
    dist.init_process_group("gloo")
    for case in ("plain", "nan", "sharded"):
        ask(case, data, Path(out) / case)
    train(data, bert, Path(out) / "trainer")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
