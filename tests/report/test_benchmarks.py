"""The benchmark scripts of this part run, and say no when they should."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mteb_nano.locate import SAMPLE

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results" / "sample"


def _script(name, *arguments):
    command = [sys.executable, str(ROOT / "benchmarks" / name), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)


def _module(name):
    spec = importlib.util.spec_from_file_location(
        f"benchmark_{name}", ROOT / f"benchmarks/{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def import_path(monkeypatch):
    """The scripts import this package from here, installed or not."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_intervals_and_tests_keep_their_promise():
    """Coverage is 93-97% and type-I error 4-6% in the simulation; resampling task means fails."""
    done = _script("statistics.py", "--repetitions", "4000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all within range" in done.stdout


def test_the_simulation_can_fail(monkeypatch):
    """The figures of the wrong method, put in the place of ours, are out of range."""
    module = _module("statistics")
    figures = module.simulate(
        n_sources=8, n_queries=50, noise=0.05, repetitions=1000, n_resamples=500, seed=0
    )
    assert module._out_of_range(figures, small=False) == []
    figures["type-I sign-flip"] = figures["type-I interval of task means"]
    assert "OUT OF RANGE: type-I sign-flip" in module._out_of_range(figures, small=False)[0]


@pytest.mark.slow
def test_the_quick_baseline_still_comes_out():
    """A run of bm25s on the sample gives the committed results to the last digit."""
    done = _script("sample_results.py", "mteb/baseline-bm25s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mteb/baseline-bm25s: 0 differences" in done.stdout


def test_a_changed_number_is_a_difference(tmp_path):
    """One per-query score or the data revision changed in the sixth digit is told by its place."""
    module = _module("sample_results")
    shutil.copytree(RESULTS, tmp_path / "made")
    path = next((tmp_path / "made").rglob("OCRMLDRSample.json"))
    model = json.loads((path.parent / "model_meta.json").read_text())["name"]
    assert module.compare(model, tmp_path / "made") == []
    data = json.loads(path.read_text())
    scores = data["scores"]["test"][7]["per_query"]["ndcg_at_10"]
    query = next(query for query, score in scores.items() if score > 0.5)
    scores[query] -= 0.03
    data["dataset_revision"] = "sample-other"
    path.write_text(json.dumps(data))
    faults = module.compare(model, tmp_path / "made")
    assert len(faults) == 2
    assert "dataset_revision" in faults[0]
    assert f"per_query.ndcg_at_10.{query}" in faults[1]
    path.unlink()
    assert "0 made" in module.compare(model, tmp_path / "made")[0]


def test_all_committed_results_are_of_this_sample():
    """No result of an older sample is left behind when the sample changes."""
    versions = {
        manifest["name"]: f"sample-{manifest['version']}"
        for manifest in (json.loads(path.read_text()) for path in SAMPLE.glob("*/manifest.json"))
    }
    module = _module("sample_results")
    paths = list(RESULTS.rglob("*Sample*.json"))
    assert len(paths) == sum(len(tasks) for tasks in module.RUNS.values())
    for path in paths:
        name = path.stem.removesuffix("Markdown")
        assert json.loads(path.read_text())["dataset_revision"] == versions[name], path
