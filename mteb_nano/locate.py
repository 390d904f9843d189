"""Where a dataset's files are, and which revision they are: Hub, folder, or something put in place.

`MTEB_NANO_NANOVIDOREV3=/data/my_copy`, `=org/name` or `=org/name@commit` puts a folder or another
Hub repository in the place of the published one.
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


def place_of(dataset: Dataset) -> Place:
    """Return where a dataset is to be read, environment variable first.

    Raises:
        UserError: The variable holds neither a folder nor a Hub repository.
    """
    value = os.environ.get(dataset.variable, "").strip()
    if not value:
        return Place(folder=dataset.folder, hub_id=dataset.hub_id, revision=dataset.revision)
    folder = Path(value).expanduser()
    if folder.is_dir():
        return Place(folder=folder.resolve(), foreign=True)
    match = _REPOSITORY.fullmatch(value)
    if match is None or value.startswith((".", "/", "~")):
        raise UserError(
            f"{dataset.variable}={value}: expected an existing folder or a Hub repository "
            "(org/name or org/name@revision); no such folder exists"
        )
    revision = match["revision"] or dataset.revision
    return Place(hub_id=match["id"], revision=revision, foreign=match["id"] != dataset.hub_id)


def revision_of(dataset: Dataset) -> str:
    """Return the revision that a result must record: of what is read now, not of what is published.

    A Hub commit; `org/name@commit` for a repository put in place; `local-` and 12 hex digits for a
    folder; `sample-` and the version for the embedded sample.

    Raises:
        UserError: The place cannot be reached and is not in the Hub's cache.
    """
    place = place_of(dataset)
    if place.folder is None:
        commit = hub_commit(str(place.hub_id), place.revision)
        return f"{place.hub_id}@{commit}" if place.foreign else commit
    if place.folder.is_relative_to(SAMPLE):
        return f"sample-{manifest.read_manifest(place.folder)['version']}"
    if _COMMIT.fullmatch(place.folder.name) and place.folder.parent.name == "snapshots":
        return place.folder.name  # a snapshot in the Hub's cache bears its commit
    stamps = tuple((str(p), p.stat().st_mtime_ns) for p in _state(place.folder))
    return _local_revision(place.folder, stamps)


def _state(folder: Path) -> list[Path]:
    path = folder / manifest.FILE_NAME
    return [path] if path.is_file() else manifest.data_files(folder)


@lru_cache(maxsize=32)
def _local_revision(folder: Path, stamps: tuple[tuple[str, int], ...]) -> str:
    del stamps  # only there so that a changed file is hashed again
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

    commit = hub_commit(str(place.hub_id), place.revision)
    allow = None if patterns is None else ["README.md", manifest.FILE_NAME, *patterns]
    try:
        path = snapshot_download(
            str(place.hub_id), repo_type="dataset", revision=commit, allow_patterns=allow
        )
    except Exception as error:  # the Hub's client raises its transport's errors too
        raise _hub_error(place, error) from error
    return Path(path)


def cached_snapshot(place: Place) -> Path | None:
    """Return a repository's snapshot in the Hub's local cache, without asking the Hub."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        path = snapshot_download(
            str(place.hub_id),
            repo_type="dataset",
            revision=place.revision,
            local_files_only=True,
        )
    except LocalEntryNotFoundError:
        return None
    return Path(path)


@lru_cache(maxsize=32)
def hub_commit(hub_id: str, revision: str) -> str:
    """Return the commit that a branch, a tag or a short hash stands for.

    Asked of the Hub; without a connection, of its local cache.
    """
    from huggingface_hub import HfApi, constants, errors, snapshot_download

    if _COMMIT.fullmatch(revision):
        return revision
    place = Place(hub_id=hub_id, revision=revision)
    answers = (errors.RepositoryNotFoundError, errors.RevisionNotFoundError)
    try:
        if not constants.HF_HUB_OFFLINE:
            return str(HfApi().dataset_info(hub_id, revision=revision).sha)
    except answers as error:
        raise _hub_error(place, error) from error
    except Exception as error:  # noqa: BLE001  no connection: the cache may know
        _log.warning("%s: the Hub cannot be asked (%s); looking in the cache", place, error)
    try:
        path = snapshot_download(
            hub_id, repo_type="dataset", revision=revision, local_files_only=True
        )
    except Exception as error:
        raise _hub_error(place, error) from error
    return Path(path).name


def _hub_error(place: Place, error: Exception) -> UserError:
    from huggingface_hub import errors

    causes = {
        errors.GatedRepoError: "is gated: accept its terms on its page, then `hf auth login`",
        errors.RevisionNotFoundError: "has no such revision: pin one that exists",
        errors.RepositoryNotFoundError: (
            "is not known to the Hub, or is private: check the name, or `hf auth login`"
        ),
        errors.LocalEntryNotFoundError: (
            "is not in the local cache and the Hub cannot be reached: connect once, or put a local "
            "copy in its place (mteb-nano data --help)"
        ),
    }
    for kind, advice in causes.items():
        if isinstance(error, kind):
            return UserError(f"{place} {advice}")
    return UserError(
        f"{place} cannot be fetched ({type(error).__name__}: {error}); try again later"
    )
