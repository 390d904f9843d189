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
    """A score that moves only if model, trainer, evaluator and best checkpoint work together."""
    if name == "late_interaction":
        request.getfixturevalue("colpali_engine")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), str(tmp_path)],
        env=env, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    ((before, after),) = LAST.findall(done.stdout)
    assert float(after) > float(before) + 0.02
    assert list(tmp_path.glob("eval/*_results.csv"))
