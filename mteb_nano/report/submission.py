"""What the MTEB results repository's tests demand of a result file, and what we add to it."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mteb_nano.catalog import PUBLISHED, Dataset
from mteb_nano.errors import UserError
from mteb_nano.report.files import find_files, printable
from mteb_nano.report.reading import load_result_file
from mteb_nano.report.records import is_real_data

# Of https://github.com/embeddings-benchmark/results: its own tests refuse what goes beyond.
MAX_BYTES = 10_000_000
MAX_CHANGE = 0.001
_SPLIT = "test"
_COMMIT = re.compile(r"[0-9a-f]{40}")
# What all models of mteb's registry have. It leaves licence, languages, framework or similarity of
# some models empty, so those cannot be demanded of their users.
_META_FIELDS = ("name", "revision", "release_date", "open_weights", "modalities")
_NO_REVISION = ("no_revision_available", "no_revision", "external", "main")


@dataclass(frozen=True)
class Candidate:
    """A result file of a published task, with the model's metadata beside it."""

    path: Path
    data: Mapping[str, Any]
    dataset: Dataset
    meta: Mapping[str, Any] | None

    @property
    def task(self) -> str:
        """The task's name as the file says it."""
        return str(self.data["task_name"])

    @property
    def place(self) -> Path:
        """Where the file belongs below the results repository's `results` folder."""
        return Path(self.path.parent.parent.name, self.path.parent.name, self.path.name)

    @property
    def side_files(self) -> tuple[Path, ...]:
        """What is submitted with the result: metadata and run settings, where they exist."""
        names = ("model_meta.json", "run_settings.jsonl")
        return tuple(p for p in (self.path.parent / name for name in names) if p.is_file())


def find_candidates(paths: Sequence[Path]) -> tuple[list[Candidate], list[str]]:
    """Return the result files of published tasks, and a line for what was left out.

    Raises:
        UserError: There is none.
    """
    datasets = {name: dataset for dataset in PUBLISHED for name in dataset.task_names}
    lines: list[str] = []
    candidates = []
    for path, _ in find_files(paths, lines):
        try:
            data = load_result_file(path)
        except UserError as error:
            lines.append(str(error))
            continue
        if data["task_name"] in datasets:
            dataset = datasets[data["task_name"]]
            candidates.append(Candidate(path, data, dataset, _read_meta(path)))
        else:
            name = printable(data["task_name"])
            lines.append(f"{path}: {name} is no published task of this package, so it is left out")
    if not candidates:
        raise UserError("\n".join([*lines[:20], "no result of a published task to submit"]))
    return candidates, lines


def _read_meta(path: Path) -> Mapping[str, Any] | None:
    try:
        meta = json.loads((path.parent / "model_meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return meta if isinstance(meta, dict) else None


def check_candidate(
    candidate: Candidate, *, known_models: Mapping[str, str | None], clone: Path | None = None
) -> list[str]:
    """Return every fault of a candidate, one line each.

    Args:
        known_models: Name -> revision of the models that mteb itself has.
        clone: A clone of the results repository, to compare with what it has.
    """
    faults = [
        *_place_faults(candidate),
        *_data_faults(candidate),
        *_score_faults(candidate),
        *_meta_faults(candidate, known_models),
    ]
    if clone is not None:
        faults += _change_faults(candidate, clone)
    return [f"{candidate.path}: {fault}" for fault in faults]


def _place_faults(candidate: Candidate) -> Iterator[str]:
    path, meta = candidate.path, candidate.meta or {}
    if path.stem != candidate.task:
        yield f"the file must be called {candidate.task}.json"
    size = path.stat().st_size
    if size > MAX_BYTES:
        yield f"{size / 1e6:.1f} MB, the results repository takes {MAX_BYTES / 1e6:.0f} MB at most"
    if path.parent.parent.name == "experiments":
        yield "an experiment (changed model arguments) is no leaderboard result"
        return
    name, revision = str(meta.get("name", "")), str(meta.get("revision", ""))
    model_folder, revision_folder = path.parent.parent.name, path.parent.name
    # As mteb's ModelMeta.model_name_as_path writes it.
    wanted = name.replace("/", "__").replace(" ", "_")
    if name and model_folder != wanted:
        yield f"it lies in {model_folder}, but model_meta.json says {name}: expected {wanted}"
    if revision and revision_folder != revision:
        yield f"it lies in {revision_folder}, but model_meta.json says revision {revision}"


def _data_faults(candidate: Candidate) -> Iterator[str]:
    revision = str(candidate.data.get("dataset_revision", ""))
    wanted = candidate.dataset.revision
    if not is_real_data(revision):
        yield f"made on {revision}: sample and local data are no leaderboard results"
    elif not _COMMIT.fullmatch(revision):
        yield f"dataset_revision must be the Hub commit (40 hex digits), got {revision!r}"
    elif _COMMIT.fullmatch(wanted) and revision != wanted:
        yield f"made on revision {revision}, the published one is {wanted}"
    if not candidate.data.get("mteb_version"):
        yield "mteb_version is missing"


def _entries(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    entries = data["scores"].get(_SPLIT)
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def _score_faults(candidate: Candidate) -> Iterator[str]:
    entries = _entries(candidate.data)
    names = [str(entry.get("hf_subset")) for entry in entries]
    missing = [name for name in candidate.dataset.subsets if name not in names]
    unknown = sorted(set(names) - set(candidate.dataset.subsets))
    twice = sorted({name for name in names if names.count(name) > 1})
    if missing:
        n = len(candidate.dataset.subsets)
        yield f"{len(missing)} of {n} subsets are missing: {_some(missing)}"
    if unknown:
        yield f"unknown subsets: {_some(unknown)}"
    if twice:
        yield f"subsets that are there twice: {_some(twice)}"
    bad = [place for entry in entries for place in _not_finite(entry, str(entry.get("hf_subset")))]
    if bad:
        yield f"{len(bad)} numbers are not finite: {_some(bad)}"
    for entry in entries:
        score = entry.get("main_score")
        if not isinstance(score, int | float) or not 0 <= score <= 1:
            yield f"{entry.get('hf_subset')}: main_score must be between 0 and 1, got {score!r}"


def _not_finite(value: object, place: str) -> Iterator[str]:
    if isinstance(value, float) and not math.isfinite(value):
        yield place
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _not_finite(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _not_finite(inner, f"{place}[{i}]")


def _meta_faults(candidate: Candidate, known_models: Mapping[str, str | None]) -> Iterator[str]:
    meta = candidate.meta
    if meta is None:
        yield "model_meta.json is missing beside it or broken; mteb writes one with each run"
        return
    empty = [name for name in _META_FIELDS if meta.get(name) in (None, "", [])]
    if empty:
        yield f"model_meta.json leaves empty: {', '.join(empty)}"
    name, revision = str(meta.get("name", "")), str(meta.get("revision", ""))
    if revision in _NO_REVISION:
        yield f"the model's revision must be a commit, got {revision!r}"
    if name.startswith("mteb-nano/"):
        yield f"{name} is a baseline that comes with this package, not a model of mteb"
    elif name not in known_models:
        yield f"{name or 'the model'} is not in mteb's registry; add it to mteb first"


def _change_faults(candidate: Candidate, clone: Path) -> Iterator[str]:
    """Compare with the clone: no subset removed, no score moved, no other data revision."""
    results = clone / "results"
    revision = candidate.data.get("dataset_revision")
    for other in sorted(results.glob(f"*/*/{candidate.task}.json"))[:1]:
        with_data = _try_load(other)
        if with_data and with_data.get("dataset_revision") != revision:
            yield (
                f"made on revision {revision}, but the repository's {other.relative_to(results)}"
                f" on {with_data.get('dataset_revision')}: scores of both cannot stand in one table"
            )
    existing = _try_load(results / candidate.place)
    if existing is None:
        return
    before = {str(e.get("hf_subset")): e.get("main_score") for e in _entries(existing)}
    after = {str(e.get("hf_subset")): e.get("main_score") for e in _entries(candidate.data)}
    removed = sorted(before.keys() - after.keys())
    if removed:
        yield f"subsets that the repository already has are missing: {_some(removed)}"
    moved = [
        f"{name} {before[name]} -> {after[name]}"
        for name in sorted(before.keys() & after.keys())
        if _moved(before[name], after[name])
    ]
    if moved:
        yield f"scores differ by more than {MAX_CHANGE} from the repository's: {_some(moved)}"


def _moved(before: object, after: object) -> bool:
    if not isinstance(before, int | float) or not isinstance(after, int | float):
        return before != after
    return abs(before - after) > MAX_CHANGE


def _try_load(path: Path) -> Mapping[str, Any] | None:
    try:
        return load_result_file(path)
    except UserError:
        return None


def _some(items: Sequence[str], n: int = 5) -> str:
    return ", ".join(items[:n]) + (f" and {len(items) - n} more" if len(items) > n else "")
