"""Train a small late-interaction model of page images with colpali-engine's own trainer.

    python examples/late_interaction.py [output_dir]

Any of colpali-engine's models and processors takes the place of the two classes here.
"""

import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import torch
from colpali_engine.collators import VisualRetrieverCollator
from colpali_engine.data import ColPaliEngineDataset
from colpali_engine.loss import ColbertLoss
from colpali_engine.trainer import ContrastiveTrainer
from colpali_engine.utils.processing_utils import BaseVisualRetrieverProcessor
from passages import passages, sample_pages  # type: ignore[missing-import]  # beside this
from PIL import Image
from torch import nn
from torch.nn.functional import normalize
from torchvision.transforms.functional import pil_to_tensor
from transformers import BatchEncoding, PretrainedConfig, PreTrainedModel, TrainingArguments

from mteb_nano.evaluators import NanoEvalCallback, NanoViDoReV3Evaluator

SEED = 0
GRID = 8  # patches along each side
PATCH = 8  # pixels along each side
N_WORDS = 4096


class SmallConfig(PretrainedConfig):
    """Nothing to configure."""

    model_type = "small-late-interaction"


class SmallModel(PreTrainedModel):
    """A vector for each word of a query, and for each patch of a page."""

    config_class = SmallConfig

    def __init__(self, config: SmallConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(N_WORDS, 64)
        width = 3 * (GRID * PATCH) ** 2
        # Every patch sees the whole page: there is no attention to bring it the rest.
        self.patches = nn.Sequential(nn.Linear(width, 128), nn.GELU(), nn.Linear(128, 4 * 64))
        self.post_init()

    def forward(
        self, input_ids: Any = None, attention_mask: Any = None, pixel_values: Any = None
    ) -> torch.Tensor:
        """Return (n, n_tokens, 64) unit vectors, zeros where there is no token."""
        if pixel_values is None:
            vectors = self.words(input_ids)
        else:
            vectors = self.patches(pixel_values.flatten(1)).unflatten(1, (4, 64))
        return normalize(vectors, dim=-1) * attention_mask.unsqueeze(-1)


class SmallProcessor(BaseVisualRetrieverProcessor):
    """Words by their hash, pages as small pictures."""

    query_prefix = ""
    query_augmentation_token = ""

    def process_images(self, images: Sequence[Image.Image]) -> BatchEncoding:
        """Return pixels, and a mask over the page's vectors."""
        size = (GRID * PATCH, GRID * PATCH)
        pixels = [pil_to_tensor(image.convert("RGB").resize(size)) / 128 - 1 for image in images]
        mask = torch.ones(len(images), 4)
        return BatchEncoding(
            {"pixel_values": torch.stack(pixels), "input_ids": mask, "attention_mask": mask}
        )

    def process_texts(self, texts: Sequence[str]) -> BatchEncoding:
        """Return numbers of words, and a mask over them."""
        words = [text.lower().split()[:16] or [""] for text in texts]
        length = max(map(len, words))
        ids = torch.zeros(len(texts), length, dtype=torch.long)
        mask = torch.zeros(len(texts), length)
        for row, some in enumerate(words):
            ids[row, : len(some)] = torch.tensor([_number(word) for word in some])
            mask[row, : len(some)] = 1
        return BatchEncoding({"input_ids": ids, "attention_mask": mask})

    def score(self, qs: Any, ps: Any, device: Any = None, **kwargs: Any) -> torch.Tensor:
        """Return MaxSim."""
        return self.score_multi_vector(qs, ps, device=device, **kwargs)

    def get_n_patches(self, *_: Any, **__: Any) -> tuple[int, int]:
        """Return the grid."""
        return GRID, GRID


def _number(word: str) -> int:
    letters = "".join(c for c in word if c.isalnum()).encode()
    return int.from_bytes(letters[:16] or b"-", "big") % (N_WORDS - 1)


def pairs_of(pages: Any, *, per_page: int, seed: int) -> ColPaliEngineDataset:
    """Return passages and the small pictures of their pages."""
    size = (GRID * PATCH, GRID * PATCH)
    small = [page.convert("RGB").resize(size) for page in pages["image"]]
    pairs = passages(list(pages["text"]), per_page=per_page, n_words=6, seed=seed)
    rows = [{"query": query, "pos_target": small[number]} for query, number in pairs]
    return ColPaliEngineDataset(rows, pos_target_column_name="pos_target")


def main(output_dir: str) -> None:
    """Train, and print the score before and after."""
    pages = sample_pages()
    torch.manual_seed(SEED)
    model, processor = SmallModel(SmallConfig()), SmallProcessor()
    evaluator = NanoViDoReV3Evaluator("image", data="sample")
    trainer = ContrastiveTrainer(
        model=model,
        args=TrainingArguments(
            output_dir=output_dir,
            max_steps=150,
            per_device_train_batch_size=32,
            learning_rate=3e-3,
            eval_strategy="steps",
            eval_steps=50,
            save_strategy="steps",
            save_steps=50,
            load_best_model_at_end=True,
            metric_for_best_model=f"eval_{evaluator.primary_metric}",
            greater_is_better=True,
            report_to=[],
            seed=SEED,
            use_cpu=True,
        ),
        train_dataset=pairs_of(pages, per_page=40, seed=SEED),
        eval_dataset=pairs_of(pages, per_page=1, seed=SEED + 1),
        data_collator=VisualRetrieverCollator(processor),
        loss_func=ColbertLoss(),
        is_vision_model=True,
    )
    NanoEvalCallback(evaluator, processor=processor).attach(trainer)
    before = trainer.evaluate()[f"eval_{evaluator.primary_metric}"]
    trainer.train()
    after = trainer.evaluate()[f"eval_{evaluator.primary_metric}"]
    print(f"{evaluator.primary_metric}: {before:.4f} untrained, {after:.4f} trained")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else folder)
