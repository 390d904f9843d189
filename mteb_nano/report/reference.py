"""Published scores shipped with the package; sources and licences are in mteb_nano/reference."""

import csv
from importlib.resources import files

# Sources of the full ViDoRe v3 -> mteb's task (the image version, v1).
FULL_TASKS = {
    "computer_science": "Vidore3ComputerScienceRetrieval",
    "energy": "Vidore3EnergyRetrieval",
    "finance_en": "Vidore3FinanceEnRetrieval",
    "finance_fr": "Vidore3FinanceFrRetrieval",
    "hr": "Vidore3HrRetrieval",
    "industrial": "Vidore3IndustrialRetrieval",
    "pharmaceuticals": "Vidore3PharmaceuticalsRetrieval",
    "physics": "Vidore3PhysicsRetrieval",
}
FULL_LANGUAGES = ("english", "french", "german", "italian", "portuguese", "spanish")

PUBLISHED_SOURCE = (
    "Sentence Transformers documentation,"
    " https://sbert.net/docs/multi_vector_encoder/pretrained_models.html"
)
FULL_SOURCE = "MTEB results repository (CC0), https://github.com/embeddings-benchmark/results"


def published_nano_means() -> dict[str, float]:
    """Return model -> published mean nDCG@10 on NanoViDoRe v3 (image mode)."""
    rows = _rows("published_nanovidore_v3.csv")
    return {row["model"]: float(row["mean_ndcg_at_10"]) for row in rows}


def full_means(*, task_version: str = "v1") -> dict[str, float]:
    """Return model -> mean nDCG@10 on the full ViDoRe v3, over sources and languages.

    A model that lacks one of the 48 scores is left out: its mean would be another quantity.

    Args:
        task_version: `v1` is the image task, `v2` the one with image and text.
    """
    cells: dict[str, dict[tuple[str, str], float]] = {}
    for row in _rows("full_vidore_v3_scores.csv"):
        if row["task_version"] == task_version:
            cell = (row["source_dataset"], row["query_language"])
            cells.setdefault(row["model"], {})[cell] = float(row["ndcg_at_10"])
    whole = len(FULL_TASKS) * len(FULL_LANGUAGES)
    return {
        model: sum(scores.values()) / whole
        for model, scores in cells.items()
        if len(scores) == whole
    }


def _rows(name: str) -> list[dict[str, str]]:
    text = files("mteb_nano").joinpath("reference", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
