"""What the tests of data share: caches of their own, small datasets, a user without rights."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import datasets
import pytest

from mteb_nano import catalog, locate
from tests import generate

TWO_SOURCES = ("hr", "physics")


@pytest.fixture(autouse=True, scope="session")
def _own_datasets_cache(tmp_path_factory):
    """Keep copies of test data out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("datasets-cache")
        )
        yield


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    """Read what the test says, whatever is set outside."""
    for row in catalog.PUBLISHED:
        monkeypatch.delenv(row.variable, raising=False)
    monkeypatch.delenv("MTEB_NANO_DATA", raising=False)
    locate._resolve.cache_clear()
    yield
    locate._resolve.cache_clear()


@pytest.fixture
def pages(tmp_path):
    """Return the folder of a page dataset of two sources."""
    return generate.pages(tmp_path / "pages", sources=TWO_SOURCES)


@pytest.fixture
def texts(tmp_path):
    """Return the folder of an OCR dataset of two languages and two settings."""
    return generate.texts(
        tmp_path / "texts", languages=("de", "ru"), settings=("dpi120_font10", "dpi300_font12")
    )


@pytest.fixture
def open_folder():
    """Return a folder that other users may enter; pytest's own are closed to them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        for path in (Path(folder), *Path(folder).rglob("*")):
            path.chmod(0o755)  # so that it can be removed


@contextmanager
def _without_rights():
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)  # root may read everything, whatever the mode says
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def without_rights():
    """Return a context in which file modes count, also for root."""
    return _without_rights
