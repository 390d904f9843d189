"""mteb's result files: none of other data, and none half-written."""

import functools
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mteb_nano.errors import UserError

log = logging.getLogger(__name__)
Missing = dict[str, list[str]]


def missing_evaluations(original: Callable[[Any, Any], Missing]) -> Callable[[Any, Any], Missing]:
    """Wrap `TaskResult.get_missing_evaluations`: of other data, everything is missing."""

    @functools.wraps(original)
    def wrapped(self: Any, task: Any) -> Missing:
        from mteb_nano.task import NanoTask

        if not isinstance(task, NanoTask) or same_data(self, task):
            return original(self, task)
        # mteb would merge these scores with the new ones: they are of other data, so drop them.
        self.scores = {}
        self.evaluation_time = None
        self.kg_co2_emissions = None
        return dict.fromkeys(task.eval_splits, task.hf_subsets)

    return wrapped


def same_data(result: Any, task: Any) -> bool:
    """Return whether a cached result is of the data that the task would read now."""
    try:
        revision = task.metadata.revision
    except UserError as error:
        log.warning(
            "%s: the cached result is of revision %s; which one is current cannot be told (%s)",
            result.task_name,
            result.dataset_revision,
            error,
        )
        return True
    if result.dataset_revision == revision:
        return True
    log.warning(
        "%s: the cached result is of revision %s, the data now are %s: evaluating anew",
        result.task_name,
        result.dataset_revision,
        revision,
    )
    return False


def written_whole(original: Callable[[Any, Path], None]) -> Callable[[Any, Path], None]:
    """Wrap `TaskResult.to_disk`: written beside and renamed, so that a kill leaves no half file.

    mteb rewrites the file after each subset, 60 times for OCR-MLDR, and cannot read half of one.
    """

    @functools.wraps(original)
    def wrapped(self: Any, path: Path) -> None:
        part = path.with_name(f".{path.name}.{os.getpid()}.partial")
        try:
            original(self, part)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    return wrapped
