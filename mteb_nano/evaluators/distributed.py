"""Several processes: the first evaluates, the others get its numbers."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import torch.distributed as dist

from mteb_nano.errors import UserError
from mteb_nano.evaluators.state import modules

# The others wait in a broadcast. NCCL's watchdog ends a job after 10 minutes, so they wait in a
# group of their own, over gloo.
_TIMEOUT = dt.timedelta(hours=24)


class FirstRank:
    """Run a function on rank 0 and give every rank its result, or its error."""

    def __init__(self) -> None:
        self._group: Any = None

    def __call__(self, function: Callable[[], dict[str, float]], model: Any) -> dict[str, float]:
        """Return the function's result.

        A model that is sharded over the ranks (FSDP, ZeRO-3) needs them all in each forward pass:
        then every rank runs the function.

        Raises:
            UserError: On the other ranks, when the function failed on rank 0.
        """
        if _alone() or trainer_shares(model) or is_sharded(model):
            return function()
        if self._group is None:
            backend = "gloo" if dist.is_gloo_available() else None
            self._group = dist.new_group(backend=backend, timeout=_TIMEOUT)
        answer: list[Any] = [None, None]
        error: BaseException | None = None
        if dist.get_rank() == 0:
            try:
                answer[0] = function()
            except BaseException as caught:  # noqa: BLE001  the others must not wait for ever
                error, answer[1] = caught, f"rank 0 failed: {type(caught).__name__}: {caught}"
        dist.broadcast_object_list(answer, src=0, group=self._group)  # type: ignore[arg-type]
        if error is not None:
            raise error
        if answer[1] is not None:
            raise UserError(answer[1])
        return answer[0]


def is_first_rank() -> bool:
    """Return whether this process writes files."""
    return _alone() or dist.get_rank() == 0


def trainer_shares(model: Any) -> bool:
    """Return whether sentence-transformers' trainer called rank 0 alone, and broadcasts itself."""
    return getattr(model, "_distributed_inference", None) is not None


def is_sharded(model: Any) -> bool:
    """Return whether the parameters are spread over the ranks."""
    return any(
        hasattr(parameter, "ds_id") or type(parameter).__name__ == "DTensor"
        for module in modules(model)
        for parameter in module.parameters()
    ) or any(
        type(part).__name__ == "FullyShardedDataParallel"
        for module in modules(model)
        for part in module.modules()
    )


def _alone() -> bool:
    return not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1)
