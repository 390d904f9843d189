"""`per_query.jsonl` of the training-time evaluators -> records, one for each model and step."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mteb_nano.errors import UserError
from mteb_nano.report.files import as_number, printable
from mteb_nano.report.records import Result, Subset

_TEXT_FIELDS = ("task", "data_revision", "subset", "query_id", "metric", "model")

# (task, data revision, model, step) -> subset -> metric -> query -> score
_Scores = dict[tuple[str, str, str, int], dict[str, dict[str, dict[str, float]]]]


def is_evaluator_file(path: Path) -> bool:
    """Return whether a path is read by `read_evaluator_file` and not as an mteb result."""
    return path.suffix == ".jsonl"


def split_step(argument: str) -> tuple[Path, int | None]:
    """Return the path and the step of `runs/per_query.jsonl@300`; no step is None."""
    path, at, step = argument.rpartition("@")
    if at and re.fullmatch(r"-?\d+", step) and is_evaluator_file(Path(path)):
        return Path(path), int(step)
    return Path(argument), None


def read_evaluator_file(path: Path, *, step: int | None = None) -> list[Result]:
    """Return the results of one step, or of all steps in their order.

    Raises:
        UserError: A line is not as expected, a query is scored twice, or the step is not there.
    """
    scores: _Scores = {}
    for number, row in _rows(path):
        key, value = _parse(path, number, row)
        queries = (
            scores.setdefault(key, {}).setdefault(row["subset"], {}).setdefault(row["metric"], {})
        )
        if row["query_id"] in queries:
            raise UserError(
                f"{path}, line {number}: query {row['query_id']} of {row['subset']} has a second"
                f" {row['metric']} at step {key[3]}; one file holds one run"
            )
        queries[row["query_id"]] = value
    steps = sorted({key[3] for key in scores})
    if not steps:
        raise UserError(f"{path}: no scores in it")
    if step is not None and step not in steps:
        known = ", ".join(map(str, steps))
        raise UserError(f"{path}: no step {step}; there are {known}")
    return [
        _result(path, key, subsets)
        for key, subsets in sorted(scores.items(), key=lambda item: (item[0][3], item[0]))
        if step in (None, key[3])
    ]


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text, so no evaluator file") from None
    # What follows the last line end is being written, or its writer was killed.
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}, line {number}: no JSON ({error})") from None


def _parse(path: Path, number: int, row: Any) -> tuple[tuple[str, str, str, int], float]:
    if not isinstance(row, dict):
        raise UserError(f"{path}, line {number}: expected an object, got {row!r}")
    wrong = [name for name in _TEXT_FIELDS if not isinstance(row.get(name), str)]
    value = as_number(row.get("score"))
    step = row.get("step")
    if wrong or value is None or isinstance(step, bool) or not isinstance(step, int):
        faults = [*wrong, *(["score"] if value is None else [])]
        faults += [] if isinstance(step, int) and not isinstance(step, bool) else ["step"]
        raise UserError(f"{path}, line {number}: missing or of the wrong type: {', '.join(faults)}")
    return (row["task"], row["data_revision"], row["model"], step), value


def _result(
    path: Path,
    key: tuple[str, str, str, int],
    subsets: dict[str, dict[str, dict[str, float]]],
) -> Result:
    task, data_revision, model, step = key
    return Result(
        model=printable(model) or path.stem,
        revision=f"step {step}",
        task=printable(task),
        data_revision=printable(data_revision),
        subsets={
            name: Subset(name, {m: sum(q.values()) / len(q) for m, q in metrics.items()}, metrics)
            for name, metrics in sorted(subsets.items())
        },
        path=path,
        rounded=False,
    )
