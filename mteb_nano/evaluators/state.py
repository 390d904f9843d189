"""Leave a model in training, and the random numbers, as they were found."""

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch


@contextlib.contextmanager
def left_as_found(model: Any) -> Iterator[None]:
    """Evaluate without gradients; then put back each module's mode and the random numbers.

    Gradients that wait for an optimizer step are not touched, since none are computed.
    """
    modes = [(part, part.training) for module in modules(model) for part in module.modules()]
    numbers = _random_state()
    free_memory()
    try:
        for module in modules(model):
            module.eval()
        # Not inference mode: a tensor that a module keeps from here would break its training.
        with torch.no_grad():
            yield
    finally:
        for part, training in modes:
            part.training = training
        _set_random_state(numbers)
        free_memory()


def modules(model: Any) -> list[torch.nn.Module]:
    """Return the model, or the modules that an object around a model holds."""
    if isinstance(model, torch.nn.Module):
        return [model]
    held = getattr(model, "__dict__", {})
    return [part for part in held.values() if isinstance(part, torch.nn.Module)]


def free_memory() -> None:
    """Give unused accelerator memory back, so that training and evaluation do not add up."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()


def _random_state() -> tuple[Any, ...]:
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    return random.getstate(), np.random.get_state(), torch.get_rng_state(), cuda  # noqa: NPY002


def _set_random_state(numbers: tuple[Any, ...]) -> None:
    python, numpy, cpu, cuda = numbers
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002
    torch.set_rng_state(cpu)
    if cuda is not None:
        torch.cuda.set_rng_state_all(cuda)
