"""The nouns: one scored subset, one result of one model on one task."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mteb_nano.catalog import MODES

MAIN_METRIC = "ndcg_at_10"
METRICS = (MAIN_METRIC, "mrr_at_10", "recall_at_100")
METRIC_NAMES = {"ndcg_at_10": "nDCG@10", "mrr_at_10": "MRR@10", "recall_at_100": "Recall@100"}


class Cell(NamedTuple):
    """Where a subset of an OCR task stands: `{language}_{setting}_{mode}`."""

    language: str
    setting: str
    mode: str


@dataclass(frozen=True)
class Subset:
    """Scores of one subset, all finite and between 0 and 1.

    Attributes:
        scores: Metric name -> score, as mteb names them.
        per_query: Metric name -> query id -> score; empty where the file has none.
    """

    name: str
    scores: Mapping[str, float]
    per_query: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What one model got on one task, from one file.

    Attributes:
        data_revision: Hub commit, `local-<hash>` or `sample-<version>`.
        seconds: Evaluation time, None where the file has none.
        rounded: Scores were rounded to 6 digits when they were saved (mteb's files are).
    """

    model: str
    revision: str
    task: str
    data_revision: str
    subsets: Mapping[str, Subset]
    path: Path
    experiment: str | None = None
    seconds: float | None = None
    rounded: bool = True

    @property
    def identity(self) -> tuple[str, str, str, str, str]:
        """What makes two files results of the same thing."""
        return (self.task, self.data_revision, self.model, self.revision, self.experiment or "")


def parse_cell(subset: str) -> Cell | None:
    """Return the language, setting and mode that a subset's name holds, or None."""
    language, _, rest = subset.partition("_")
    setting, _, mode = rest.rpartition("_")
    return Cell(language, setting, mode) if language and setting and mode in MODES else None


def dpi_of(setting: str) -> int | None:
    """Return the resolution that a setting's name tells, e.g. 120 of `dpi120_font10`."""
    found = re.search(r"dpi(\d+)", setting)
    return int(found[1]) if found else None


def is_real_data(data_revision: str) -> bool:
    """Return whether a revision is neither the sample's nor a local folder's."""
    return not data_revision.startswith(("sample-", "local-"))
