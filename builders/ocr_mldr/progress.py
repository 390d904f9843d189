"""How far recognition is: a bar with rate, time left and the error rate so far."""

import contextlib
import json
from collections.abc import Generator
from typing import Any

from rich import progress as bars
from rich.console import Console


class Progress:
    """A progress bar on stderr, or nothing when quiet."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._edits = 0
        self._characters = 0
        self._bar = bars.Progress(
            bars.TextColumn("recognising"),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn("sentences, {task.fields[rate]}, CER {task.fields[cer]}"),
            bars.TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=quiet,
            speed_estimate_period=600,  # shards end in bursts
        )
        self._task: Any = None

    @contextlib.contextmanager
    def over(self, total: int) -> Generator[None]:
        """Show the bar while the block runs, over a number of sentences."""
        with self._bar:
            self._task = self._bar.add_task("", total=total, rate="", cer="-")
            yield

    def advance(self, n: int, content: bytes | None) -> None:
        """Count the sentences of a finished shard; `content` is None where it was there before."""
        if content is not None:
            shard = json.loads(content)
            self._edits += sum(shard["edits"])
            self._characters += shard["characters"]
        cer = f"{self._edits / self._characters:.1%}" if self._characters else "-"
        task = self._bar.tasks[self._task]
        rate = f"{task.speed:.1f}/s" if task.speed else ""
        self._bar.update(self._task, advance=n, rate=rate, cer=cer)
