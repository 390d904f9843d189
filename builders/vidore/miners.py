"""Choose the miner that a name stands for."""

import argparse
import json
from pathlib import Path

from builders.vidore.mining import Miner
from builders.vidore.recipe import Recipe


def make_miner(recipe: Recipe, work: Path, options: argparse.Namespace) -> Miner:
    """Return the miner: ColQwen3.5 models through colpali-engine, every other one through mteb.

    Args:
        recipe: Names the model.
        work: Where embeddings are kept.
        options: batch_size, device, engine, workers, quiet.
    """
    if _is_colqwen(recipe):
        from builders.vidore.late import LateInteractionMiner

        return LateInteractionMiner(recipe, work / "embeddings", options)
    from builders.vidore.search import MtebMiner

    return MtebMiner(
        recipe.miner, recipe.miner_revision, batch_size=options.batch_size, quiet=options.quiet
    )


def _is_colqwen(recipe: Recipe) -> bool:
    """Return whether the model is a ColQwen3.5: by a folder's config or by mteb's loader."""
    config = Path(recipe.miner) / "config.json"
    if config.is_file():
        return "ColQwen3_5" in json.loads(config.read_bytes()).get("architectures", [])
    from builders.vidore.search import find_model

    loader = find_model(recipe.miner, recipe.miner_revision).loader
    return getattr(loader, "__name__", "") == "ColQwen3_5Wrapper"
