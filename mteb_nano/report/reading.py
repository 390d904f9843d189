"""Result files -> records. Whatever cannot be used becomes one clear line, and the rest goes on."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mteb_nano.catalog import PUBLISHED
from mteb_nano.errors import UserError
from mteb_nano.report.files import as_number, find_files, load_json, printable
from mteb_nano.report.records import METRICS, Result, Subset

_SPLIT = "test"
# mteb rounds aggregates to 5 digits and per-query scores to 6.
_ROUNDING = 5e-5
_TOLERANCE = 1e-9  # pytrec_eval's sums end a few units in the last place above 1


@dataclass
class Reading:
    """Results in path order, and a line for everything that could not be used."""

    results: list[Result] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_results(
    paths: Iterable[Path], *, tasks: Iterable[str] | None = None, progress: bool = False
) -> Reading:
    """Read every result file in the given files and folders.

    Args:
        tasks: Keep only results of these tasks. None keeps what this package's tasks wrote: the
            published names, and every file with per-query scores.
        progress: Whether to show a bar on stderr, if that is a terminal.

    Raises:
        UserError: A path does not exist, or there is not one usable result.
    """
    paths = list(paths)
    wanted = None if tasks is None else set(tasks)
    reading = Reading()
    known: dict[tuple[str, ...], Result] = {}
    others: Counter[str] = Counter()
    files = list(find_files(paths, reading.problems))
    for path, named in _tracked(files, progress=progress):
        try:
            data = load_result_file(path)
            if not _is_wanted(data, wanted, named=named):
                others[printable(str(data["task_name"]))] += 1
                continue
            _add(parse_result(path, data, reading.problems), known, reading.problems)
        except UserError as error:
            reading.problems.append(str(error))
    reading.results = list(known.values())
    if not reading.results:
        raise UserError(
            "\n".join([*reading.problems[:20], _nothing_found(paths, len(files), wanted, others)])
        )
    reading.problems += _left_out(others, hint=wanted is None)
    return reading


def _tracked(files: Sequence[tuple[Path, bool]], *, progress: bool) -> Iterable[tuple[Path, bool]]:
    if not progress:
        return files
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(files, "reading", console=console, transient=True, disable=not console.is_terminal)


def _is_wanted(data: Mapping[str, Any], wanted: set[str] | None, *, named: bool) -> bool:
    task = data["task_name"]
    if wanted is not None:
        return task in wanted
    if named or task in {name for dataset in PUBLISHED for name in dataset.task_names}:
        return True
    splits = data["scores"].values()
    entries = [entry for split in splits if isinstance(split, list) for entry in split]
    return any(isinstance(entry, dict) and "per_query" in entry for entry in entries)


def _add(result: Result, known: dict[tuple[str, ...], Result], problems: list[str]) -> None:
    other = known.setdefault(result.identity, result)
    if other is not result:
        same = other.subsets == result.subsets
        verdict = "the same scores" if same else "with DIFFERENT scores; the first is used"
        what = f"{result.model} {result.revision} on {result.task} ({result.data_revision})"
        problems.append(f"{result.path}: {what} is also in {other.path}, {verdict}")


def _left_out(others: Counter[str], *, hint: bool) -> list[str]:
    if not others:
        return []
    how = "; --task NAME takes one" if hint else ""
    return [f"{others.total()} files of other tasks left out ({_names(others)}){how}"]


def _names(others: Counter[str]) -> str:
    return ", ".join(sorted(others)[:5]) + (", ..." if len(others) > 5 else "")  # noqa: PLR2004


def _nothing_found(
    paths: list[Path], n_files: int, wanted: set[str] | None, others: Counter[str]
) -> str:
    where = ", ".join(str(path) for path in paths)
    tasks = "" if wanted is None else f" of {', '.join(sorted(wanted))}"
    if others:
        how = "; --task NAME takes one" if wanted is None else ""
        advice = f"there are results of {_names(others)}{how}"
    else:
        advice = "expected mteb's layout <folder>/<org__model>/<revision>/<Task>.json"
    return f"{where}: {n_files} JSON files, but no usable result{tasks}; {advice}"


def load_result_file(path: Path) -> dict[str, Any]:
    """Return a result file's JSON, with a `task_name` and an object `scores`.

    Raises:
        UserError: It is not that.
    """
    data = load_json(path)
    if isinstance(data, dict) and "mteb_dataset_name" in data:
        raise UserError(f"{path}: written by mteb before 1.11, whose files had another shape")
    if not isinstance(data, dict) or not isinstance(data.get("scores"), dict):
        raise UserError(f"{path}: not a result file: no object with `task_name` and `scores`")
    if not isinstance(data.get("task_name"), str) or not data["task_name"]:
        raise UserError(f"{path}: `task_name` must be a name, got {data.get('task_name')!r}")
    return data


def parse_result(path: Path, data: Mapping[str, Any], problems: list[str]) -> Result:
    """Return the record of a loaded file; what cannot be used is left out and told in `problems`.

    Raises:
        UserError: Nothing in the file can be used.
    """
    subsets: dict[str, Subset] = {}
    for entry in _entries(path, data["scores"]):
        subset = _read_subset(path, entry, problems)
        if subset is not None and subset.name in subsets:
            problems.append(f"{path}: subset {subset.name} is there twice; the first is used")
        elif subset is not None:
            subsets[subset.name] = subset
    if not subsets:
        raise UserError(f"{path}: no subset with a usable {METRICS[0]}")
    return Result(
        task=printable(data["task_name"]),
        data_revision=printable(str(data.get("dataset_revision", "unknown"))),
        subsets=subsets,
        path=path,
        seconds=as_number(data.get("evaluation_time")),
        **_model(path),
    )


def _entries(path: Path, scores: object) -> list[Mapping[str, Any]]:
    if not isinstance(scores, dict) or not scores:
        raise UserError(f"{path}: `scores` holds no split")
    split = _SPLIT if _SPLIT in scores else min(scores)
    entries = scores[split]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UserError(f"{path}: `scores.{split}` must be a list of objects, one per subset")
    return entries


def _read_subset(path: Path, entry: Mapping[str, Any], problems: list[str]) -> Subset | None:
    name = entry.get("hf_subset")
    if not isinstance(name, str):
        problems.append(f"{path}: a subset without `hf_subset` is left out")
        return None
    numbers = {key: as_number(value) for key, value in entry.items()}
    problems += [
        f"{path}: {name}: {metric} is {entry[metric]!r}, treated as missing"
        for metric in METRICS
        if metric in entry and not _is_score(numbers[metric])
    ]
    scores = {
        key: value for key, value in numbers.items() if value is not None and _is_score(value)
    }
    if METRICS[0] not in scores:
        if METRICS[0] not in entry:
            problems.append(f"{path}: {name}: no {METRICS[0]}, so not a retrieval result")
        return None
    where = f"{path}: {name}"
    return Subset(name, scores, _read_per_query(where, entry.get("per_query"), scores, problems))


def _read_per_query(
    where: str, block: object, scores: Mapping[str, float], problems: list[str]
) -> dict[str, dict[str, float]]:
    if not isinstance(block, dict):
        return {}
    kept = {}
    for metric, values in block.items():
        if not isinstance(values, dict) or not values:
            continue
        numbers = {query: as_number(value) for query, value in values.items()}
        usable = {q: v for q, v in numbers.items() if v is not None and _is_score(v)}
        if len(usable) < len(numbers):
            bad = next(query for query in values if query not in usable)
            problems.append(
                f"{where}: {metric} of query {bad} is {values[bad]!r}; per-query {metric} not used"
            )
        elif (
            metric in scores
            and abs(math.fsum(usable.values()) / len(usable) - scores[metric]) > _ROUNDING
        ):
            problems.append(
                f"{where}: per-query {metric} has another mean than {metric} = {scores[metric]};"
                " not used"
            )
        else:
            kept[metric] = usable
    return kept


def _model(path: Path) -> dict[str, Any]:
    """Return the model's name, revision and experiment, from model_meta.json or the folders."""
    folder = path.parent
    experiment = None
    if folder.parent.name == "experiments":
        experiment, folder = folder.name, folder.parent.parent
    name, revision = folder.parent.name.replace("__", "/"), folder.name
    for meta_path in (path.parent / "model_meta.json", folder / "model_meta.json"):
        try:
            meta = load_json(meta_path)
        except UserError:
            continue
        if isinstance(meta, dict):
            name = meta["name"] if isinstance(meta.get("name"), str) else name
            revision = meta["revision"] if isinstance(meta.get("revision"), str) else revision
            break
    return {
        "model": printable(name) or path.stem,
        "revision": printable(revision),
        "experiment": experiment and printable(experiment),
    }


def _is_score(value: float | None) -> bool:
    return value is not None and -_TOLERANCE <= value <= 1 + _TOLERANCE
