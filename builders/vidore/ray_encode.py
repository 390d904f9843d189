"""Spread the encoding of shards over a Ray cluster: one encoder a GPU, blocks of pages as tasks.

Images travel to the workers and embeddings back, so that the cluster needs no shared disk; a few
shards at a time, so that memory stays flat.
"""

import argparse
import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from mteb_nano.errors import UserError

if TYPE_CHECKING:
    from builders.vidore.colqwen import Page
    from builders.vidore.late import Shard

_IN_FLIGHT = 2  # shards a worker: one is encoded while the next one travels


class Worker:
    """An encoder in a process of its own."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        """Load the model; `arguments` are those of `Encoder`."""
        from builders.vidore.colqwen import Encoder

        self._encoder = Encoder(**arguments)

    def encode(self, pages: Sequence["Page"], batch_size: int) -> bytes:
        """Return the packed shard of some pages."""
        from builders.vidore.shards import pack_shard

        return pack_shard(list(self._encoder.encode_pages(pages, batch_size=batch_size)))

    def encode_queries(self, texts: Sequence[str]) -> bytes:
        """Return the packed shard of some queries."""
        from builders.vidore.shards import pack_shard

        return pack_shard(self._encoder.encode_queries(texts))


def count_gpus() -> int:
    """Return how many GPUs the cluster has, after starting or joining it.

    With RAY_ADDRESS set, or on a node of a cluster, Ray joins it; else it starts one here.

    Raises:
        UserError: Ray is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise UserError("--engine ray needs Ray: pip install 'mteb-nano[ray]'") from error
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    return int(ray.cluster_resources().get("GPU", 0))


class RayPool:
    """Encoders on the GPUs of a cluster, or of this machine; started once for all sources."""

    def __init__(self, arguments: Mapping[str, Any], options: argparse.Namespace) -> None:
        """Start the workers; `arguments` are those of `Encoder`, `options` says how many.

        Raises:
            UserError: Ray is not installed, or the cluster is too small.
        """
        n_gpus = count_gpus()
        import ray

        self._ray: Any = ray
        self._batch_size = options.batch_size
        needs: dict[str, Any] = {"num_gpus": 1} if n_gpus else {"num_cpus": 1}
        most = n_gpus or int(self._ray.cluster_resources().get("CPU", 1))
        n_workers = options.workers or n_gpus or 1
        if n_workers > most:
            # Ray would wait for ever for the missing ones.
            kind = "GPUs" if n_gpus else "CPUs"
            raise UserError(f"--workers {n_workers}: the Ray cluster has {most} {kind}")
        remote = self._ray.remote(**needs)(Worker)
        self._workers: list[Any] = [remote.remote(dict(arguments)) for _ in range(n_workers)]

    def encode(
        self, jobs: Iterator[tuple["Shard", Sequence["Page"]]]
    ) -> Iterator[tuple["Shard", bytes]]:
        """Yield each shard with its content, in the order in which they are finished.

        Raises:
            UserError: A worker fails; its own error is passed on.
        """
        running: dict[Any, tuple[Any, Shard]] = {}

        def give(worker: Any, n: int) -> None:
            for shard, pages in islice(jobs, n):
                running[worker.encode.remote(pages, self._batch_size)] = (worker, shard)

        for worker in self._workers:
            give(worker, _IN_FLIGHT)
        while running:
            (done,), _ = self._ray.wait(list(running), num_returns=1)
            worker, shard = running.pop(done)
            yield shard, self._result(done)
            give(worker, 1)

    def encode_queries(self, texts: Sequence[str]) -> bytes:
        """Return the packed shard of some queries, encoded by the first worker."""
        return self._result(self._workers[0].encode_queries.remote(list(texts)))

    def _result(self, done: Any) -> bytes:
        """Return what a finished task gave."""
        try:
            return self._ray.get(done)
        except self._ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, UserError):
                raise cause from error
            raise UserError(f"--engine ray: a worker failed: {error}") from error
