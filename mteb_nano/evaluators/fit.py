"""Page images at the size that a model's processor makes them, so that resizing is done once."""

from typing import Any

import torch
from PIL import Image

from mteb_nano.evaluators.colpali import ColpaliEncoder

# Code that is known to resize an image first, to a size that it then leaves alone, and to do
# nothing else that depends on the size before. Of other code nothing is assumed.
_PROCESSORS = (
    "transformers.processing_utils",
    "transformers.models.colqwen2.",
    "transformers.models.paligemma.",
    "colpali_engine.models.paligemma.",
    "colpali_engine.models.qwen",
)
_IMAGE_PROCESSORS = (
    "transformers.image_processing_utils",
    "transformers.image_processing_backends",
    "transformers.models.qwen2_vl.",
)
_PROCESSOR_STEPS = ("__call__", "_process_images", "apply_chat_template", "process_images")
_IMAGE_STEPS = (
    "__call__",
    "preprocess",
    "_standardize_kwargs",
    "_preprocess_image_like_inputs",
    "_prepare_image_like_inputs",
    "_preprocess",
    "process_image",
    "resize",
)


class Fit:
    """Resizes an image as an image processor would; the processor then finds nothing to resize.

    Attributes:
        key: Tells processors and settings apart.
    """

    def __init__(self, image_processor: Any) -> None:
        names = image_processor._valid_kwargs_names  # noqa: SLF001  what a call of it reads
        given = {name: getattr(image_processor, name, None) for name in names}
        settings = image_processor._standardize_kwargs(**given)  # noqa: SLF001
        self._processor = image_processor
        self._arguments = {name: settings[name] for name in ("size", "resample")}
        if settings.get("merge_size"):  # Qwen-VL: sides are multiples of a merged patch
            self._arguments["factor"] = settings["patch_size"] * settings["merge_size"]
        self.works = bool(settings.get("do_resize")) and settings.get("device") is None
        self.key = repr((type(image_processor), sorted(settings.items(), key=str)))

    def __call__(self, image: Image.Image) -> Image.Image:
        """Return the resized image, or the image where that would not spare anything, or differ."""
        if image.mode != "RGB":
            return image  # callers convert other modes in different ways
        pixels = self._processor.process_image(image)[None]
        resized = self._processor.resize(pixels, **self._arguments)
        grown = resized.shape[-2] * resized.shape[-1] > image.width * image.height
        again = self._processor.resize(resized, **self._arguments)
        if grown or resized.dtype != torch.uint8 or again.shape != resized.shape:
            return image
        return Image.fromarray(resized[0].permute(1, 2, 0).contiguous().numpy())


def fit_for(model: Any) -> Fit | None:
    """Return what resizes as a model's processor does; None where that is not known."""
    processor = _processor(model)
    if processor is None or not _known(processor, _PROCESSOR_STEPS, _PROCESSORS):
        return None
    image_processor = getattr(processor, "image_processor", None)
    if getattr(image_processor, "backend", None) != "torchvision":
        return None
    if not _known(image_processor, _IMAGE_STEPS, _IMAGE_PROCESSORS):
        return None
    fit = Fit(image_processor)
    return fit if fit.works else None


def _processor(model: Any) -> Any:
    """Return the processor that gets a page's image as it is, with no other settings than its own.

    Only for colpali-engine's models, and those of sentence-transformers with its own first module.
    """
    if isinstance(model, ColpaliEncoder):
        return model.processor
    first = transformer_of(model)
    return None if getattr(first, "processing_kwargs", None) else getattr(first, "processor", None)


def transformer_of(model: Any) -> Any:
    """Return the module that prepares a sentence-transformers model's inputs, if it is known."""
    first = next(iter((getattr(model, "_modules", None) or {}).values()), None)
    of_library = type(model).__module__.startswith("sentence_transformers.")
    known = type(first).__module__ == "sentence_transformers.base.modules.transformer"
    if not of_library or not known:
        return None
    replaced = any("preprocess" in vars(part) for part in (model, first))  # by code of one's own
    return None if replaced else first


def _known(owner: Any, steps: tuple[str, ...], modules: tuple[str, ...]) -> bool:
    """Return whether the code of all these methods, as far as there are any, is known."""
    methods = [getattr(owner, step, None) for step in steps]
    return all(m is None or m.__module__.startswith(modules) for m in methods)
