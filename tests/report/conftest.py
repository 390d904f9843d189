"""Result files in mteb's layout, written by mteb's own TaskResult."""

import json

import numpy as np
import pytest

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


@pytest.fixture(scope="session")
def task_result_class():
    """Files are written by mteb's own class, so that the reader meets mteb's real format."""
    from mteb.results import TaskResult

    return TaskResult


@pytest.fixture
def write_result(tmp_path, task_result_class):
    """Return a function that writes one result file and gives its path."""

    def write(model, task, subsets, *, data_revision=REVISION, revision="main", root=None, **extra):
        folder = (root or tmp_path / "results") / model.replace("/", "__") / revision
        folder.mkdir(parents=True, exist_ok=True)
        entries = [
            {**scores, "hf_subset": name, "languages": ["eng-Latn"]}
            for name, scores in subsets.items()
        ]
        result = task_result_class(
            dataset_revision=data_revision,
            task_name=task,
            mteb_version="2.26.24",
            scores={"test": entries},
            evaluation_time=extra.pop("seconds", 12.5),
        )
        path = folder / f"{task}.json"
        result.to_disk(path)
        meta = {"name": model, "revision": revision, **extra}
        (folder / "model_meta.json").write_text(json.dumps(meta), encoding="utf-8")
        return path

    return write


@pytest.fixture
def write_pages(write_result):
    """Return a function that writes a NanoViDoReV3 result of a given quality (0 to 1)."""

    def write(model, quality=0.6, *, seed=0, sources=SOURCES, task="NanoViDoReV3", **options):
        # A model's name must not change its scores: only the seed does.
        rngs = {s: np.random.default_rng((seed, SOURCES.index(s))) for s in sources}
        subsets = {
            s: page_scores(rng, quality + 0.02 * (SOURCES.index(s) - 4), s)
            for s, rng in rngs.items()
        }
        return write_result(model, task, subsets, **options)

    return write


@pytest.fixture
def write_ocr(write_result):
    """Return a function that writes a small OCR result."""

    def write(model, *, seed=0, task="OwnOCR", drop=(), settings=None, **options):
        kwargs = {"settings": settings} if settings else {}
        subsets = ocr_scores(np.random.default_rng(seed), **kwargs)
        kept = {k: v for k, v in subsets.items() if k not in drop}
        return write_result(model, task, kept, **options)

    return write
