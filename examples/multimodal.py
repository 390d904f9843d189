"""Train a small CLIP on the sample's page images, with a score every 125 steps.

python examples/multimodal.py [output_dir]
"""

import sys
import tempfile
from pathlib import Path

import torch
from datasets import Dataset
from passages import passages, sample_pages  # type: ignore[missing-import]  # beside this
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    CLIPConfig,
    CLIPImageProcessor,
    CLIPModel,
    CLIPProcessor,
    PreTrainedTokenizerFast,
)

from mteb_nano.evaluators import NanoViDoReV3Evaluator

SEED = 0
PIXELS = 64
UNKNOWN = {"unk_token": "[UNK]"}
SPECIAL = ["[PAD]", "[UNK]", "[BOS]", "[EOS]"]


def words_of(texts: list[str]) -> PreTrainedTokenizerFast:
    """Return a tokenizer of the texts' words."""
    made = Tokenizer(models.WordLevel(**UNKNOWN))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordLevelTrainer(
        vocab_size=6000, special_tokens=SPECIAL, show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="[BOS] $A [EOS]", special_tokens=[("[BOS]", 2), ("[EOS]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "bos_token", "eos_token"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=24, **names)


def small_clip(texts: list[str], folder: Path) -> SentenceTransformer:
    """Return a CLIP of random weights."""
    words = words_of(texts)
    size = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 2}
    text = {
        "vocab_size": len(words),
        "max_position_embeddings": 24,
        "num_hidden_layers": 1,
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
    }
    vision = {"image_size": PIXELS, "patch_size": 32, "num_hidden_layers": 1}
    torch.manual_seed(SEED)
    config = CLIPConfig(text_config=text | size, vision_config=vision | size, projection_dim=64)
    CLIPModel(config).save_pretrained(folder)
    images = CLIPImageProcessor(
        size={"height": PIXELS, "width": PIXELS}, do_center_crop=False, do_convert_rgb=True
    )
    CLIPProcessor(image_processor=images, tokenizer=words).save_pretrained(folder)
    return SentenceTransformer(str(folder), device="cpu")


def main(output_dir: str) -> None:
    """Train, and print the score before and after."""
    pages = sample_pages()
    texts = list(pages["text"])
    thumbnails = [page.convert("RGB").resize((PIXELS, PIXELS)) for page in pages["image"]]
    pairs = passages(texts, per_page=40, n_words=12, seed=SEED)
    train = Dataset.from_dict(
        {"query": [q for q, _ in pairs], "page": [thumbnails[n] for _, n in pairs]}
    )
    model = small_clip(texts, Path(output_dir) / "untrained")
    evaluator = NanoViDoReV3Evaluator("image", data="sample")
    before = evaluator(model)[evaluator.primary_metric]
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            output_dir=output_dir,
            max_steps=250,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            warmup_steps=20,
            eval_strategy="steps",
            eval_steps=125,
            save_strategy="steps",
            save_steps=125,
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
