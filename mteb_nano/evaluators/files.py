"""What an evaluator writes: a CSV row each time, a JSON line a query, and what was evaluated."""

import csv
import io
import itertools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mteb_nano.report.records import MAIN_METRIC

PER_QUERY = "per_query.jsonl"
Key = tuple[Any, ...]  # task, data_revision, model, step: one evaluation


class Writer:
    """Adds to the files of one evaluator; all of them survive a kill at any moment.

    Args:
        name: The evaluator's name: the task in the lines, and the start of the CSV's name.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._written: dict[Path, set[Key]] = {}

    def write_config(self, folder: Path, config: Mapping[str, Any]) -> None:
        """Write `<name>_config.json`."""
        text = json.dumps(config, indent=2, sort_keys=True, default=str) + "\n"
        _replace(folder / f"{self._name}_config.json", text.encode())

    def add_row(self, folder: Path, row: Mapping[str, Any]) -> None:
        """Add a row to `<name>_results.csv`, as the library's own evaluators do.

        A file with other columns, of an earlier version, is left alone; `_2` is put to the name.
        """
        header = list(row)
        endings = itertools.chain([""], (f"_{n}" for n in itertools.count(2)))
        paths = (folder / f"{self._name}_results{ending}.csv" for ending in endings)
        path = next(p for p in paths if not p.exists() or _header(p) == header)
        rows = io.StringIO(newline="")
        writer = csv.writer(rows, lineterminator="\n")
        old = _whole_lines(path)
        if not old:
            writer.writerow(header)
        writer.writerow(row.values())
        _replace(path, (old + rows.getvalue()).encode())

    def add_scores(
        self,
        folder: Path,
        scores: Mapping[str, Mapping[str, float]],
        *,
        data_revision: str,
        model: str,
        step: int,
    ) -> None:
        """Add a line for each query to `per_query.jsonl`.

        Lines of the same evaluation of the same step go: a run that was resumed came by again, or
        was killed while it wrote.
        """
        same = {"task": self._name, "data_revision": data_revision, "model": model, "step": step}
        path = folder / PER_QUERY
        if path not in self._written:
            self._written[path] = _evaluations(path)
        if tuple(same.values()) in self._written[path]:
            kept = [line for line in path.read_bytes().splitlines(keepends=True) if _holds(line)]
            _replace(path, b"".join(line for line in kept if _key(line) != tuple(same.values())))
        self._written[path].add(tuple(same.values()))
        lines = (
            {**same, "subset": subset, "query_id": query, "metric": MAIN_METRIC, "score": score}
            for subset, queries in scores.items()
            for query, score in queries.items()
        )
        with path.open("ab") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines).encode())


def _evaluations(path: Path) -> set[Key]:
    """Return which evaluations a file has lines of, after cutting off a half-written line."""
    if not path.exists():
        return set()
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        _replace(path, whole)
    return {_key(line) for line in whole.splitlines() if _holds(line)}


def _holds(line: bytes) -> bool:
    return bool(line.strip())


def _key(line: bytes) -> Key:
    try:
        row = json.loads(line)
    except ValueError:
        row = None  # not ours: kept as it is, and reported by who reads the file
    names = ("task", "data_revision", "model", "step")
    return tuple(row.get(name) for name in names) if isinstance(row, dict) else ()


def _whole_lines(path: Path) -> str:
    """Return a file's text up to its last line end, or nothing."""
    if not path.exists():
        return ""
    text = path.read_text(encoding="utf-8")
    return text[: text.rfind("\n") + 1]


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file), [])


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    partial.write_bytes(data)
    partial.replace(path)
