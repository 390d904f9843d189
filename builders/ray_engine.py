"""Run shards on a Ray cluster; see `engine`."""

import contextlib
import logging
import os
from collections.abc import Callable, Generator, Iterable
from typing import Any

from builders.engine import MAX_TRIES, WAITING_PER_WORKER, Shard
from mteb_nano.errors import UserError


def run_on_ray(
    work: Callable[[Any], bytes],
    todo: Iterable[Shard],
    *,
    workers: int,
    address: str | None,
) -> Generator[tuple[str, bytes]]:
    """Yield key and result of each shard as they come; a shard whose worker died is done again.

    Raises:
        UserError: Ray is not installed or the cluster is not reached, or a shard's worker died
            three times.
    """
    ray = _import_ray()
    with _connected(ray, workers, address):
        remote = ray.remote(num_cpus=1, max_retries=MAX_TRIES - 1)(work)
        waiting = iter(todo)
        running: dict[Any, Shard] = {}
        while True:
            while len(running) < WAITING_PER_WORKER * workers:
                shard = next(waiting, None)
                if shard is None:
                    break
                running[remote.remote(shard.payload)] = shard
            if not running:
                return
            done, _ = ray.wait(list(running), num_returns=1)
            for reference in done:
                shard = running.pop(reference)
                yield shard.key, _result(ray, reference, shard)


def _result(ray: Any, reference: Any, shard: Shard) -> bytes:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise cause if isinstance(cause, UserError) else error from None
    except ray.exceptions.WorkerCrashedError as error:
        raise UserError(
            f"a worker died {MAX_TRIES} times at shard {shard.key}: is there enough memory on the "
            "nodes? The same command goes on from here"
        ) from error


@contextlib.contextmanager
def _connected(ray: Any, workers: int, address: str | None) -> Generator[None]:
    if ray.is_initialized():  # a program that uses Ray itself keeps its connection
        yield
        return
    # Ray would send usage statistics and warn of what does not concern our users.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    local: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False}
    try:
        ray.init(
            address=address or "local",
            log_to_driver=False,
            logging_level=logging.ERROR,
            **({} if address else local),
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UserError(f"Ray at {address or 'this machine'} is not reached: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise UserError(f"--engine ray needs Ray ({error}): pip install 'mteb-nano[ray]'") from None
    return ray
