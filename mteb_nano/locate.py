"""Where a dataset's files are, and which revision they are: Hub, folder, or something put in place.

`MTEB_NANO_NANOVIDOREV3=/data/my_copy`, `=org/name` or `=org/name@revision` (a branch, a tag or a
full commit) puts a folder or another Hub repository in the place of the published one.
"""

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mteb_nano import manifest
from mteb_nano.catalog import Dataset
from mteb_nano.errors import UserError

_log = logging.getLogger(__name__)

SAMPLE = Path(__file__).parent / "sample"
_REPOSITORY = re.compile(r"(?P<id>[\w.-]+/[\w.-]+)(@(?P<revision>[\w./-]+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Place:
    """A folder, or a Hub repository at a revision; `foreign` when it is not the published one."""

    folder: Path | None = None
    hub_id: str | None = None
    revision: str = "main"
    foreign: bool = False

    def __str__(self) -> str:
        return str(self.folder) if self.folder else f"{self.hub_id}@{self.revision}"


def cache_folder() -> Path:
    """Return the folder for what can be computed or fetched again: readings, language files."""
    return Path(os.environ.get("MTEB_NANO_CACHE") or Path.home() / ".cache" / "mteb-nano")


def place_of(dataset: Dataset) -> Place:
    """Return where a dataset is to be read, environment variable first.

    Raises:
        UserError: The variable holds neither a folder nor a Hub repository.
    """
    value = os.environ.get(dataset.variable, "").strip()
    if not value:
        return Place(folder=dataset.folder, hub_id=dataset.hub_id, revision=dataset.revision)
    expected = "expected an existing folder or a Hub repository (org/name or org/name@revision)"
    try:
        folder = Path(value).expanduser()
        if folder.is_dir():
            return Place(folder=folder.resolve(), foreign=True)
    except (OSError, RuntimeError) as error:  # a name too long, a home that is not known
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{dataset.variable}={value[:200]}: {expected}; {reason}") from None
    match = _REPOSITORY.fullmatch(value)
    if match is None or value.startswith((".", "/", "~")):
        raise UserError(f"{dataset.variable}={value}: {expected}; no such folder exists")
    revision = match["revision"] or "main"
    return Place(hub_id=match["id"], revision=revision, foreign=match["id"] != dataset.hub_id)


def revision_of(dataset: Dataset) -> str:
    """Return the revision that a result must record: of what is read now, not of what is published.

    A Hub commit; `org/name@commit` for a repository put in place; `local-` and 12 hex digits for a
    folder; `sample-` and the version for the embedded sample.

    Raises:
        UserError: The place cannot be reached and is not in the Hub's cache, or not be read.
    """
    place = place_of(dataset)
    if place.folder is None:
        commit = hub_commit(str(place.hub_id), place.revision)
        return f"{place.hub_id}@{commit}" if place.foreign else commit
    if place.folder.resolve().is_relative_to(SAMPLE.resolve()):
        return f"sample-{manifest.read_manifest(place.folder).get('version', 'unknown')}"
    if snapshot := _snapshot(place.folder):
        repository, commit = snapshot
        return commit if dataset.hub_id in {None, repository} else f"{repository}@{commit}"
    try:
        stats = [(str(p), p.stat()) for p in _state(place.folder)]
        stamps = tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)
        return _local_revision(place.folder, stamps)
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read ({error.strerror})") from None


def _snapshot(folder: Path) -> tuple[str, str] | None:
    """Return repository and commit of a snapshot in the Hub's cache, which its path bears."""
    cached = folder.parents[1].name if len(folder.parents) > 1 else ""
    if folder.parent.name != "snapshots" or not _COMMIT.fullmatch(folder.name):
        return None
    if not cached.startswith("datasets--"):
        return None
    return cached.removeprefix("datasets--").replace("--", "/"), folder.name


def _state(folder: Path) -> list[Path]:
    path = folder / manifest.FILE_NAME
    return [path] if path.is_file() else manifest.data_files(folder)


@lru_cache(maxsize=32)
def _local_revision(folder: Path, _stamps: tuple[tuple[str, int, int], ...]) -> str:
    # The times and sizes are there so that a changed file is hashed again.
    return manifest.revision_of(folder)


def fetch(dataset: Dataset, patterns: Sequence[str] | None = None) -> Path:
    """Return the folder of a dataset, downloaded into the Hub's cache if need be.

    Args:
        dataset: Which one.
        patterns: Globs of the files that are needed; all when None.

    Raises:
        UserError: It cannot be had; the message says what to do.
    """
    place = place_of(dataset)
    if place.folder is not None:
        if not place.folder.is_dir():
            raise UserError(f"{place.folder}: expected a dataset folder, found nothing there")
        return place.folder
    from huggingface_hub import snapshot_download

    commit, reachable = _resolve(str(place.hub_id), place.revision)
    allow = None if patterns is None else ["README.md", manifest.FILE_NAME, *patterns]
    try:
        path = snapshot_download(
            str(place.hub_id),
            repo_type="dataset",
            revision=commit,
            allow_patterns=allow,
            local_files_only=not reachable,  # the client would try again for half a minute
        )
    except Exception as error:  # the Hub's client raises its transport's errors too
        raise _hub_error(place, error) from error
    return Path(path)


def cached_snapshot(place: Place) -> Path | None:
    """Return a repository's snapshot in the Hub's local cache, without asking the Hub.

    Raises:
        UserError: The place's name is none of a repository.
    """
    from huggingface_hub import errors, snapshot_download

    try:
        path = snapshot_download(
            str(place.hub_id),
            repo_type="dataset",
            revision=place.revision,
            local_files_only=True,
        )
    except errors.LocalEntryNotFoundError:
        return None
    except errors.HFValidationError as error:
        raise _hub_error(place, error) from error
    return Path(path)


def hub_commit(hub_id: str, revision: str) -> str:
    """Return the commit that a branch or a tag stands for, the same one in all of this process.

    Asked of the Hub; without a connection, of its local cache.

    Raises:
        UserError: Neither knows it.
    """
    return _resolve(hub_id, revision)[0]


@lru_cache(maxsize=32)
def _resolve(hub_id: str, revision: str) -> tuple[str, bool]:
    """Return the commit, and whether the Hub may be asked for files."""
    from huggingface_hub import HfApi, constants, errors

    if _COMMIT.fullmatch(revision):
        return revision, not constants.HF_HUB_OFFLINE
    place = Place(hub_id=hub_id, revision=revision)
    reason: Exception = errors.LocalEntryNotFoundError("the Hub is not asked (HF_HUB_OFFLINE)")
    try:
        if not constants.HF_HUB_OFFLINE:
            return str(HfApi().dataset_info(hub_id, revision=revision).sha), True
    except (
        errors.RepositoryNotFoundError,
        errors.RevisionNotFoundError,
        errors.HFValidationError,
    ) as error:
        raise _hub_error(place, error) from error
    except Exception as error:  # noqa: BLE001  no connection: the cache may know
        reason = error
    path = cached_snapshot(place)
    if path is None:
        raise _hub_error(place, reason) from reason
    if not constants.HF_HUB_OFFLINE:
        _log.warning("%s: the Hub cannot be asked (%s); using the cache", place, _first(reason))
    return path.name, False


def _hub_error(place: Place, error: Exception) -> UserError:
    from huggingface_hub import constants, errors

    status = getattr(getattr(error, "response", None), "status_code", None)
    alone = "put a local copy in its place (mteb-nano data --help)"
    if isinstance(error, errors.GatedRepoError):
        advice = "is gated: accept its terms on its page, then `hf auth login`"
    elif isinstance(error, errors.RevisionNotFoundError):
        advice = "has no such revision: give a branch, a tag or a full commit of 40 digits"
    elif isinstance(error, errors.RepositoryNotFoundError) or status in {401, 403}:
        advice = (
            "is no folder here, is not known to the Hub, or is private: check the name, "
            "or `hf auth login`"
        )
    elif isinstance(error, errors.HFValidationError):
        advice = f"is neither a folder nor a repository's name ({_first(error)})"
    elif isinstance(error, errors.LocalEntryNotFoundError) and constants.HF_HUB_OFFLINE:
        advice = (
            "is not in the local cache, and HF_HUB_OFFLINE keeps the Hub from being asked: unset "
            f"it and run once with a connection, or {alone}"
        )
    elif isinstance(error, errors.LocalEntryNotFoundError):
        advice = (
            f"is not in the local cache and the Hub cannot be reached: connect once, or {alone}"
        )
    else:
        advice = (
            f"cannot be fetched ({type(error).__name__}: {_first(error)}) and is not in the local "
            f"cache: try again later, or {alone}"
        )
    return UserError(f"{place} {advice}")


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]
