"""The examples run as they are, offline, and end above their untrained score."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAST = re.compile(r"NanoViDoReV3Sample\w*_mean_ndcg@10: (0\.\d+) untrained, (0\.\d+) trained")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dense_text", "multimodal", "late_interaction"])
def test_example(name, tmp_path, request):
    """A score that moves only if model, trainer, evaluator and best checkpoint work together.

    Its seed is fixed: two runs print the same (of the shortest, to spare time).
    """
    if name == "late_interaction":
        request.getfixturevalue("colpali_engine")
    printed = run(ROOT / "examples" / f"{name}.py", tmp_path / "1")
    ((before, after),) = LAST.findall(printed)
    assert float(after) > float(before) + 0.02
    assert list(tmp_path.glob("1/eval/*_results.csv"))
    if name == "dense_text":
        again = run(ROOT / "examples" / f"{name}.py", tmp_path / "2")
        assert LAST.findall(again) == [(before, after)]


def run(script, folder):
    folder.mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, str(script), str(folder)],
        env=env, cwd=folder, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
