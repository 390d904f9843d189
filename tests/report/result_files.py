"""Scores as the tasks of this package write them, for synthetic result files."""

import numpy as np

from mteb_nano.report.statistics import Interval

SOURCES = (
    "computer_science", "energy", "finance_en", "finance_fr",
    "hr", "industrial", "pharmaceuticals", "physics",
)  # fmt: skip
LANGUAGES = ("fra", "deu", "eng", "ita", "spa", "por")
FORMATS = ("question", "keyword", "instruction")
REVISION = "a" * 40


def page_scores(rng, quality, source, n_queries=50):
    """Return a subset's scores as the task writes them."""
    quality = np.clip(quality, 0.05, 0.95)
    ndcg = np.round(rng.beta(3 * quality, 3 * (1 - quality), n_queries), 6)
    return subset_scores(ndcg, [f"{source}-{i}" for i in range(n_queries)], grouped=True)


def subset_scores(ndcg, queries, *, grouped=False):
    """Return scores whose aggregates are the means of the per-query ones, rounded as mteb does."""
    per_query = {
        "ndcg_at_10": dict(zip(queries, map(float, ndcg), strict=True)),
        "mrr_at_10": dict(zip(queries, map(float, np.round(ndcg**1.1, 6)), strict=True)),
        "recall_at_100": dict(zip(queries, map(float, np.round(ndcg**0.3, 6)), strict=True)),
    }
    scores = {m: round(float(np.mean(list(v.values()))), 5) for m, v in per_query.items()}
    for names, prefix in ((LANGUAGES, "lang"), (FORMATS, "format")) if grouped else ():
        for i, name in enumerate(names):
            scores[f"ndcg_at_10_{prefix}_{name}"] = float(np.mean(ndcg[i :: len(names)]))
    return {**scores, "main_score": scores["ndcg_at_10"], "per_query": per_query}


def ocr_scores(rng, *, settings=("dpi120_font10", "dpi300_font12"), languages=("de", "en"), n=20):
    """Return subset -> scores in which every noisy mode loses a known share of clean."""
    kept = {"clean": 1.0, "ocr": 0.7, "clean2ocr": 0.9, "ocr2clean": 0.8}
    found = {}
    for language in languages:
        clean = np.round(rng.beta(2, 1, n), 6)
        for setting in settings:
            for mode, share in kept.items():
                lost = (1 - share) * (1 if setting == "dpi120_font10" else 1 / 3)
                queries = [f"q{i}" for i in range(n)]
                name = f"{language}_{setting}_{mode}"
                found[name] = subset_scores(np.round(clean * (1 - lost), 6), queries)
    return found


def interval(value):
    """Return a table's value, which must be an interval."""
    assert isinstance(value, Interval)
    return value


def width(value):
    """Return how wide an interval is; it must have limits."""
    found = interval(value)
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low
