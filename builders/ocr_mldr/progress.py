"""How far recognition is: a bar with rate, time left and the error rate so far."""

import contextlib
import json
import time
from collections.abc import Generator
from datetime import timedelta
from typing import Any

from rich import progress as bars
from rich.console import Console


class Progress:
    """A progress bar on stderr, or nothing when quiet."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._edits = 0
        self._characters = 0
        self._n_new = 0
        self._started = 0.0
        self._bar = bars.Progress(
            bars.TextColumn("recognising"),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn("sentences{task.fields[rate]}{task.fields[cer]}"),
            console=Console(stderr=True),
            disable=quiet,
        )
        self._task: Any = None

    @contextlib.contextmanager
    def over(self, total: int) -> Generator[None]:
        """Show the bar while the block runs, over a number of sentences."""
        with self._bar:
            self._started = time.monotonic()
            self._task = self._bar.add_task("", total=total, rate="", cer="")
            yield

    def advance(self, n: int, content: bytes | None) -> None:
        """Count the sentences of a finished shard; `content` is None where it was there before."""
        done = self._bar.tasks[self._task].completed + n
        if content is None:  # costs no time, so it must not count as speed
            self._bar.update(self._task, completed=done)
            return
        shard = json.loads(content)
        self._edits += sum(shard["edits"])
        self._characters += shard["characters"]
        self._n_new += n
        rate = self._n_new / max(1e-9, time.monotonic() - self._started)
        left = ((self._bar.tasks[self._task].total or done) - done) / rate
        self._bar.update(
            self._task,
            completed=done,
            rate=f", {rate:.1f}/s, {timedelta(seconds=round(left))} left",
            cer=f", CER {self._edits / max(1, self._characters):.1%}",
        )
