from pathlib import Path

import pytest

from tests.ocr_mldr.ocr_cases import GERMAN, RUSSIAN, write_source


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few real sentences in two languages."""
    return write_source(tmp_path_factory.mktemp("source"), {"de": GERMAN, "ru": RUSSIAN})
