"""Images that are kept at the processor's size give the model the very same numbers."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from sentence_transformers import MultiVectorEncoder, SentenceTransformer

pytest.importorskip(
    "transformers.image_processing_backends", reason="resizing is known of transformers 5"
)

from transformers import (
    CLIPImageProcessor,
    CLIPImageProcessorPil,
    Idefics3ImageProcessor,
    SiglipImageProcessor,
)
from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor

from mteb_nano.evaluators import ColpaliEncoder, NanoViDoReV3Evaluator
from mteb_nano.evaluators.fit import Fit, fit_for
from tests.evaluators import small_data, tiny_vision

SMALL = {"shortest_edge": 4 * 16**2, "longest_edge": 12 * 16**2}
PROCESSORS = {
    "clip": CLIPImageProcessor(size={"shortest_edge": 24}, crop_size={"height": 24, "width": 24}),
    "siglip": SiglipImageProcessor(size={"height": 24, "width": 24}),
    "qwen": Qwen2VLImageProcessor(patch_size=8, merge_size=2, size=SMALL),
    "qwen, narrow": Qwen2VLImageProcessor(
        patch_size=8, merge_size=2, size={"shortest_edge": 1500, "longest_edge": 1600}
    ),
}
SIDE = st.integers(1, 150)


def noise(width, height, mode="RGB"):
    pixels = np.random.default_rng(width * 1000 + height).integers(0, 256, (height, width, 3))
    return Image.fromarray(pixels.astype(np.uint8)).convert(mode)


def processed(processor, *images):
    return dict(processor(list(images), return_tensors="pt"))


@pytest.mark.parametrize("name", PROCESSORS)
@given(sizes=st.lists(st.tuples(SIDE, SIDE), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_the_processor_gives_the_same(name, sizes):
    """Whatever the sizes, and in batches too: all its tensors are equal to the last bit."""
    processor = PROCESSORS[name]
    fit = Fit(processor)
    assert fit.works
    images = [noise(*size) for size in sizes]
    fitted = [fit(image) for image in images]
    wanted, found = processed(processor, *images), processed(processor, *fitted)
    assert wanted.keys() == found.keys()
    assert all(torch.equal(wanted[key], found[key]) for key in wanted)
    assert all(
        f.width * f.height <= i.width * i.height for f, i in zip(fitted, images, strict=True)
    )


def test_only_what_is_known_is_resized(multimodal):
    """Other modes than RGB are left alone, and so is all of an unknown processor's."""
    fit = fit_for(multimodal)
    assert fit(noise(90, 90)).size == (32, 32)
    gray = noise(90, 90, "L")
    assert fit(gray) is gray
    part = multimodal[0]
    part.processing_kwargs = {"image": {"do_resize": False}}
    assert fit_for(multimodal) is None
    part.processing_kwargs = {}
    part.processor.image_processor.do_resize = False
    assert fit_for(multimodal) is None
    part.processor.image_processor = Idefics3ImageProcessor()  # resizes, cuts, and resizes again
    assert fit_for(multimodal) is None
    part.processor.image_processor = CLIPImageProcessorPil()  # where torchvision is not installed
    assert fit_for(multimodal) is None
    assert fit_for(object()) is None


def test_a_processor_of_ones_own_is_not_known(multimodal):
    """A subclass that looks at the image before its resizing is not taken for its parent."""

    class Cropping(CLIPImageProcessor):
        def process_image(self, image, **kwargs):
            return super().process_image(image.crop((0, 0, 10, 10)), **kwargs)

    multimodal[0].processor.image_processor = Cropping(size={"shortest_edge": 32})
    assert fit_for(multimodal) is None


@pytest.fixture
def big_pages(tmp_path):
    tables = small_data.page_tables()
    images = [{"bytes": small_data.png(i, (150 + i, 170)), "path": None} for i in range(12)]
    tables["corpus"]["image"] = images
    return small_data.write_pages(tmp_path / "big", tables)


def kinds(models, clip, colqwen):
    from colpali_engine.models import ColQwen3_5, ColQwen3_5Processor

    torch.manual_seed(0)
    yield SentenceTransformer(str(clip), device="cpu")
    yield MultiVectorEncoder(str(tiny_vision.save_qwen(models / "fit-qwen")), device="cpu")
    yield MultiVectorEncoder(str(tiny_vision.save_colqwen2(models / "fit-colqwen2")), device="cpu")
    yield ColpaliEncoder(
        ColQwen3_5.from_pretrained(colqwen).eval(), ColQwen3_5Processor.from_pretrained(colqwen)
    )


def test_models_get_the_same(big_pages, models, clip, colqwen, monkeypatch):
    """Each kind of model, on one evaluator: the same inputs and scores as with whole images."""
    evaluator = NanoViDoReV3Evaluator(data=big_pages, batch_size=5)
    (images,) = [documents.images for documents in evaluator._documents]
    known = set()
    for model in kinds(models, clip, colqwen):
        known.add(fit_for(model).key)
        fitted = [evaluator(model), dict(evaluator.per_query), evaluator(model)]
        assert images.n_decoded == 12 * len(known)  # once for each processor's settings
        assert images[0].width < 150
        with monkeypatch.context() as patched:
            patched.setattr("mteb_nano.evaluators.base.fit_for", lambda model: None)
            whole = NanoViDoReV3Evaluator(data=big_pages, batch_size=5)
            whole(model)
        assert whole.per_query == fitted[1] == evaluator.per_query


def test_other_settings_are_seen(big_pages, multimodal):
    """A processor whose size is changed between two calls gets images of the new size."""
    evaluator = NanoViDoReV3Evaluator(data=big_pages)
    evaluator(multimodal)
    (images,) = [documents.images for documents in evaluator._documents]
    processor = multimodal[0].processor.image_processor
    assert min(images[0].size) == 32
    processor.size = {"shortest_edge": 40}
    evaluator(multimodal)
    assert min(images[0].size) == 40
