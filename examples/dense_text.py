"""Train word vectors on the sample's markdown, with a score every 40 steps.

python examples/dense_text.py [output_dir]
"""

import sys
import tempfile

import torch
from datasets import Dataset
from passages import passages, sample_pages  # type: ignore[missing-import]  # beside this
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from mteb_nano.evaluators import NanoViDoReV3Evaluator

SEED = 0
UNKNOWN = {"unk_token": "[UNK]"}


def word_vectors(texts: list[str]) -> SentenceTransformer:
    """Return a model of random word vectors, with a tokenizer made from the texts."""
    tokenizer = Tokenizer(models.WordLevel(**UNKNOWN))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[UNK]", "[PAD]"]
    trainer = trainers.WordLevelTrainer(  # the same in every run; WordPieceTrainer's is not
        vocab_size=4000, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    torch.manual_seed(SEED)
    return SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=64)], device="cpu")


def main(output_dir: str) -> None:
    """Train, and print the score before and after."""
    texts = list(sample_pages()["text"])
    pairs = passages(texts, per_page=16, n_words=12, seed=SEED)
    train = Dataset.from_dict(
        {"query": [q for q, _ in pairs], "page": [texts[n] for _, n in pairs]}
    )
    model = word_vectors(texts)
    evaluator = NanoViDoReV3Evaluator("markdown", data="sample")
    before = evaluator(model)[evaluator.primary_metric]
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            output_dir=output_dir,
            max_steps=120,
            per_device_train_batch_size=32,
            learning_rate=0.1,
            eval_strategy="steps",
            eval_steps=40,
            save_strategy="steps",
            save_steps=40,
            load_best_model_at_end=True,
            metric_for_best_model=f"eval_{evaluator.primary_metric}",
            report_to=[],
            seed=SEED,
            use_cpu=True,
        ),
        train_dataset=train,
        loss=MultipleNegativesRankingLoss(model),
        evaluator=evaluator,
    )
    trainer.train()
    after = evaluator(model)[evaluator.primary_metric]
    print(f"{evaluator.primary_metric}: {before:.4f} untrained, {after:.4f} trained")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else folder)
