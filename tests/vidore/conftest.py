"""Fixtures that several tests of the page builder share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Machines are shared: a slow moment is not a failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def colpali_engine():
    """Skip where colpali-engine is not installed."""
    return pytest.importorskip("colpali_engine.models", reason="needs colpali-engine")


@pytest.fixture(scope="session")
def tiny_colqwen(tmp_path_factory, colpali_engine):
    """Return the folder of a random ColQwen3.5 with 200,000 parameters."""
    from tests.vidore.tiny_colqwen import save_tiny_colqwen

    folder = tmp_path_factory.mktemp("models") / "tiny-colqwen"
    save_tiny_colqwen(folder)
    return folder


@pytest.fixture(scope="session")
def subprocess_env():
    """Return an environment in which `python -m builders...` runs from anywhere, offline."""
    root = Path(__file__).parents[2]
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
