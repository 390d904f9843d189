"""What a model makes of a page image before it looks: its resolution decides the score."""

from collections.abc import Mapping
from typing import Any

# Where processors keep it: CLIP `size` and `crop_size`; Qwen-VL `size` or `min_pixels` and
# `max_pixels`; Idefics and its kin `max_image_size`; ColPali `image_seq_length`.
_FIELDS = (
    "size",
    "crop_size",
    "min_pixels",
    "max_pixels",
    "max_image_size",
    "max_num_visual_tokens",
    "max_visual_tokens",
    "image_seq_length",
    "patch_size",
    "merge_size",
)


def image_limits(model: Any) -> dict[str, Any] | None:
    """Return the image size or the cap on visual tokens that a model's processor has now.

    None when the model has no processor that tells.
    """
    processor = getattr(model, "processor", None)
    parts = [processor, getattr(processor, "image_processor", None)]
    found: dict[str, Any] = {}
    for part in parts:
        for name in _FIELDS:
            value = getattr(part, name, None)
            if value is not None:
                found[name] = _plain(value)
    return found or None


def _plain(value: Any) -> Any:
    """Return a number, or a dictionary of numbers, fit for JSON."""
    if isinstance(value, int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if hasattr(value, "__dict__"):  # transformers' SizeDict
        return {key: _plain(item) for key, item in vars(value).items() if item is not None}
    return str(value)


def name_of(model: Any) -> str:
    """Return a model's name as far as it knows it, else its class."""
    card = getattr(model, "model_card_data", None)
    inner = getattr(model, "model", None)
    configs = [getattr(part, "config", None) for part in (model, inner)]
    names = [
        getattr(card, "model_name", None),
        getattr(card, "model_id", None),
        getattr(card, "base_model", None),
        *(getattr(config, "_name_or_path", None) for config in configs),
    ]
    return next((str(name) for name in names if name), type(model).__name__)
