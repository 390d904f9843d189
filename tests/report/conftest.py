"""Result files in mteb's layout, written by mteb's own TaskResult."""

import json

import numpy as np
import pytest

from tests.report.result_files import REVISION, SOURCES, ocr_scores, page_scores


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
