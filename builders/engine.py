"""Run shards of work: in this process, in a pool of processes, or on a Ray cluster.

A shard is a key and a payload; its result is some bytes, which become the file named by the key.
The key must be a hash of everything that the result depends on: a file that exists is never made
again, so whatever was killed, the same call goes on where it stopped.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any, Literal

from builders.export import write_bytes
from mteb_nano.errors import UserError

Engine = Literal["local", "ray"]
Work = Callable[[Any], bytes]
WAITING_PER_WORKER = 2  # shards in flight: enough that no worker idles, few enough to stay flat
MAX_TRIES = 3  # of a shard whose worker died


@dataclass(frozen=True)
class Shard:
    """A piece of work: `key` names its file (hex digits), `payload` is pickled to the worker."""

    key: str
    payload: Any


def shard_path(folder: Path, key: str) -> Path:
    """Return where a shard's result lies; two digits of folders keep directories small."""
    return folder / key[:2] / f"{key}.json"


def run_shards(
    work: Work,
    shards: Iterable[Shard],
    folder: Path,
    *,
    workers: int = 1,
    engine: Engine = "local",
    address: str | None = None,
) -> Generator[tuple[str, bytes | None]]:
    """Run the shards that have no file yet, and yield each key as its file is there.

    Shards are taken from the iterable as workers become free, so that it may be longer than
    memory. Only this process writes files, each beside its place and renamed.

    Args:
        work: A function of a module, called with a payload, that returns the file's content. It
            must depend on nothing but the payload.
        shards: What to do.
        folder: Where the files go.
        workers: Processes on this machine; with Ray the shards in flight are twice this.
        engine: `local`, or `ray` (`pip install 'mteb-nano[ray]'`).
        address: Of a running Ray cluster; without it a Ray is started here.

    Yields:
        The key, and the content if it was made now or None if the file was there.

    Raises:
        UserError: A file cannot be written, or a shard's worker died three times.
    """
    runner = _runner(work, workers=workers, engine=engine, address=address)
    todo = _Todo(shards, folder)
    with contextlib.closing(runner(todo)) as results:
        yield from todo.found()
        for key, content in results:
            write_bytes(shard_path(folder, key), content)
            yield key, content
            yield from todo.found()
    yield from todo.found()


class _Todo:
    """Iterates over the shards without a file, and keeps the keys of the others."""

    def __init__(self, shards: Iterable[Shard], folder: Path) -> None:
        self._shards = iter(shards)
        self._folder = folder
        self._found: list[str] = []

    def __iter__(self) -> Iterator[Shard]:
        taken: set[str] = set()
        for shard in self._shards:
            if shard.key in taken or shard_path(self._folder, shard.key).is_file():
                self._found.append(shard.key)
                continue
            taken.add(shard.key)
            yield shard

    def found(self) -> Iterator[tuple[str, None]]:
        """Yield the keys of the shards passed over since the last call."""
        found, self._found = self._found, []
        for key in found:
            yield key, None


Results = Generator[tuple[str, bytes]]


def _runner(
    work: Work, *, workers: int, engine: Engine, address: str | None
) -> Callable[[Iterable[Shard]], Results]:
    if engine == "ray":
        from builders.ray_engine import run_on_ray

        return lambda todo: run_on_ray(work, todo, workers=workers, address=address)
    if workers == 1:
        return lambda todo: ((shard.key, work(shard.payload)) for shard in todo)
    return lambda todo: _run_in_pool(work, todo, workers=workers)


def _run_in_pool(work: Work, todo: Iterable[Shard], *, workers: int) -> Results:
    waiting = iter(todo)
    again: list[Shard] = []  # shards that were in flight when a worker died
    tries: dict[str, int] = {}
    while True:
        running: dict[Future[bytes], Shard] = {}
        with _pool(workers) as pool:
            try:
                # One at a time after a death, so that only the shard that causes it is blamed.
                while again:
                    running = {pool.submit(work, again[-1].payload): again[-1]}
                    yield from _finished(running)
                    again.pop()
                yield from _keep_busy(pool, work, waiting, running, workers)
            except BrokenProcessPool:
                again += [shard for shard in running.values() if shard not in again]
                _count_tries(running.values(), tries)
            else:
                return


def _keep_busy(
    pool: ProcessPoolExecutor,
    work: Work,
    waiting: Iterator[Shard],
    running: dict[Future[bytes], Shard],
    workers: int,
) -> Results:
    for shard in waiting:
        running[_submit(pool, work, shard)] = shard
        if len(running) >= WAITING_PER_WORKER * workers:
            yield from _finished(running)
    while running:
        yield from _finished(running)


def _submit(pool: ProcessPoolExecutor, work: Work, shard: Shard) -> Future[bytes]:
    try:
        return pool.submit(work, shard.payload)
    except BrokenProcessPool as error:
        # The shard is taken already: let it come back with those that were in flight.
        failed: Future[bytes] = Future()
        failed.set_exception(error)
        return failed


def _finished(running: dict[Future[bytes], Shard]) -> Results:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        content = future.result()
        yield running.pop(future).key, content


@contextlib.contextmanager
def _pool(workers: int) -> Generator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_worker
    )
    try:
        yield pool
    finally:
        processes = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        # After Ctrl-C or an error, nobody waits for the shards that are still being worked on.
        for process in processes:
            process.terminate()


def _count_tries(shards: Iterable[Shard], tries: dict[str, int]) -> None:
    for shard in shards:
        tries[shard.key] = tries.get(shard.key, 0) + 1
        if tries[shard.key] >= MAX_TRIES:
            raise UserError(
                f"a worker died {MAX_TRIES} times at shard {shard.key}: is there enough memory? "
                "Take fewer --workers; the same command goes on from here"
            )


def _begin_worker() -> None:
    """Let the parent alone answer Ctrl-C, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
