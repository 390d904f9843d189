"""Models and data that several tests of the evaluators share; each is made once a session."""

import mteb  # noqa: F401  before our modules, as a user's program would
import pytest
import torch

from tests.evaluators import small_data, tiny, tiny_vision


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Return a folder for models."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def bert(models):
    return tiny.save_bert(models / "bert")


@pytest.fixture(scope="session")
def clip(models):
    return tiny.save_clip(models / "clip")


@pytest.fixture
def dense(bert):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(bert), device="cpu")


@pytest.fixture
def multimodal(clip):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(clip), device="cpu")


@pytest.fixture
def late(bert):
    from sentence_transformers import MultiVectorEncoder

    return MultiVectorEncoder(str(bert), device="cpu")


@pytest.fixture
def late_multimodal(models):
    from sentence_transformers import MultiVectorEncoder

    torch.manual_seed(0)  # the library adds a random projection
    return MultiVectorEncoder(str(tiny_vision.save_qwen(models / "qwen")), device="cpu")


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    return small_data.write_pages(tmp_path_factory.mktemp("data") / "pages")


@pytest.fixture(scope="session")
def texts(tmp_path_factory):
    return small_data.write_texts(tmp_path_factory.mktemp("data") / "texts")


@pytest.fixture(scope="session")
def colpali_engine():
    """Skip where colpali-engine is not installed."""
    return pytest.importorskip("colpali_engine.models", reason="needs colpali-engine")


@pytest.fixture(scope="session")
def colqwen(models, colpali_engine):
    """Return the folder of a random ColQwen3.5."""
    from tests.vidore.tiny_colqwen import save_tiny_colqwen

    folder = models / "colqwen"
    save_tiny_colqwen(folder)
    return folder
