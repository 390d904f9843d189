"""Fixtures that several tests of the page builder share."""

import os
from pathlib import Path

import pytest

from tests.vidore.torchvision_ops import declare


@pytest.fixture(scope="session")
def declared_torchvision():
    """Make colpali-engine importable where torchvision's wheel does not fit torch."""
    pytest.importorskip("colpali_engine.utils", reason="needs colpali-engine", exc_type=ImportError)
    declare()


@pytest.fixture(scope="session")
def tiny_colqwen(tmp_path_factory, declared_torchvision):
    """Return the folder of a random ColQwen3.5 with 200,000 parameters."""
    from tests.vidore.tiny_colqwen import save_tiny_colqwen

    folder = tmp_path_factory.mktemp("models") / "tiny-colqwen"
    save_tiny_colqwen(folder)
    return folder


@pytest.fixture(scope="session")
def subprocess_env():
    """Return an environment in which `python -m builders...` runs from anywhere, offline."""
    root = Path(__file__).parents[2]
    paths = [str(Path(__file__).parent), str(root), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
