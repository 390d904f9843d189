"""Which results may stand in one table: same task, same data revision, never sample beside real."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import mteb_nano
from mteb_nano.catalog import MODES, PUBLISHED, Dataset, from_manifest
from mteb_nano.manifest import read_manifest
from mteb_nano.report.records import Result, parse_cell

_COMMIT_DIGITS = 40
_SAMPLE = Path(mteb_nano.__file__).parent / "sample"


@dataclass(frozen=True)
class Board:
    """Results of one task on one revision of its data.

    Attributes:
        subsets: All that a whole result has, in the order of the tables.
        results: In the order they were read.
    """

    task: str
    data_revision: str
    subsets: tuple[str, ...]
    results: tuple[Result, ...]

    @property
    def title(self) -> str:
        """The task and its data, e.g. `OCRMLDRSample (sample data sample-1)`."""
        kinds = {"sample-": "sample data ", "local-": "local data "}
        found = (kind for start, kind in kinds.items() if self.data_revision.startswith(start))
        # A commit is shown as git shows it; other revisions are short and shown whole.
        is_commit = len(self.data_revision) == _COMMIT_DIGITS
        revision = self.data_revision[:10] if is_commit else self.data_revision
        return f"{self.task} ({next(found, 'data ')}{revision})"

    @property
    def is_ocr(self) -> bool:
        """Whether every subset is a `{language}_{setting}_{mode}`."""
        return all(parse_cell(subset) for subset in self.subsets)

    def missing(self, result: Result) -> tuple[str, ...]:
        """Return the subsets that a result lacks."""
        return tuple(subset for subset in self.subsets if subset not in result.subsets)

    def labels(self) -> list[str]:
        """Return a name for each result that no other one bears."""
        names = [result.model for result in self.results]
        labels = [
            result.model + (f" @{result.revision[:8]}" if names.count(result.model) > 1 else "")
            for result in self.results
        ]
        return [
            label + (f" ({result.experiment})" if result.experiment else "")
            for label, result in zip(labels, self.results, strict=True)
        ]


def make_boards(results: Iterable[Result], *, datasets: Sequence[Dataset] = ()) -> list[Board]:
    """Sort results into boards, ordered by task and data revision.

    Args:
        datasets: What is known beside the published datasets and the sample; tells which subsets a
            whole result has. For other tasks it is every subset that any of the results has.
    """
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.task, result.data_revision), []).append(result)
    known = {
        name: dataset
        for dataset in (*datasets, *embedded(), *PUBLISHED)
        for name in dataset.task_names
    }
    boards = []
    for (task, revision), members in sorted(groups.items()):
        seen = {name for result in members for name in result.subsets}
        expected = known[task].subsets if task in known else ()
        extra = sorted(seen - set(expected))
        subsets = (*expected, *extra) if expected else _all_cells(extra)
        boards.append(Board(task, revision, tuple(subsets), tuple(members)))
    return boards


def embedded() -> list[Dataset]:
    """Return the sample's datasets."""
    folders = sorted(path.parent for path in _SAMPLE.glob("*/manifest.json"))
    return [from_manifest(read_manifest(folder), folder) for folder in folders]


def _all_cells(subsets: Sequence[str]) -> Sequence[str]:
    """Return every language x setting x mode that the names speak of, or the names themselves."""
    cells = [parse_cell(subset) for subset in subsets]
    if not cells or None in cells:
        return subsets
    found = [cell for cell in cells if cell]
    return [
        f"{language}_{setting}_{mode}"
        for language in sorted({cell.language for cell in found})
        for setting in sorted({cell.setting for cell in found})
        for mode in MODES
        if mode in {cell.mode for cell in found}
    ]
