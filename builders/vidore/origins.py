"""Where sources lie: `NAME=WHERE` or `WHERE`, a folder or a dataset repository on the Hub."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from builders.vidore.recipe import HUB_SOURCES
from builders.vidore.source_tables import PARTS
from builders.vidore.sources import Source, read_source
from mteb_nano.errors import UserError

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(@[\w.-]+)?")
_TABLES = (*PARTS, "documents_metadata")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def parse_origins(arguments: Sequence[str]) -> dict[str, str]:
    """Return source name -> folder or Hub id (`owner/name` or `owner/name@revision`), sorted.

    Without arguments the 8 public datasets. A name that is not given is the last part of the
    place, without the prefix `vidore_v3_`.

    Raises:
        UserError: A name is used twice or holds other characters than letters, digits, `_.-`.
    """
    origins: dict[str, str] = {}
    for argument in arguments or [f"{name}={place}" for name, place in HUB_SOURCES.items()]:
        name, equals, place = argument.partition("=")
        if not equals:
            place = argument
            name = Path(place.partition("@")[0] if _is_hub_id(place) else place).resolve().name
            name = name.removeprefix("vidore_v3_")
        if not _NAME.fullmatch(name):
            raise UserError(f"--sources {argument}: {name!r} is no name; write NAME={place}")
        if name in origins:
            raise UserError(
                f"--sources: {name} is named twice; write NAME=PLACE to tell them apart"
            )
        origins[name] = place
    return dict(sorted(origins.items()))


def read_sources(
    origins: dict[str, str], *, report: Callable[[str], None] = lambda _: None
) -> dict[str, Source]:
    """Return the sources by name, in the order of names; Hub repositories are fetched first.

    Raises:
        UserError: A place is neither a folder nor a Hub id, or does not hold a source.
    """
    sources = {}
    for name, place in sorted(origins.items()):
        report(f"read {name}")
        if Path(place).is_dir():
            folder = Path(place)
            sources[name] = read_source(name, folder, origin=folder.resolve().name)
        elif _is_hub_id(place):
            hub_id = place.partition("@")[0]
            folder = fetch_snapshot(place, [f"{part}/*.parquet" for part in _TABLES])
            # A snapshot lies in a folder that is named by its commit.
            sources[name] = read_source(name, folder, origin=hub_id, revision=folder.name)
        else:
            raise UserError(
                f"{name}: {place} is neither a folder with {', '.join(PARTS)} nor a dataset on the "
                "Hub (owner/name)"
            )
    return sources


def _is_hub_id(place: str) -> bool:
    """Return whether a place that is no folder reads as `owner/name`."""
    return not Path(place).exists() and _HUB_ID.fullmatch(place) is not None


def fetch_snapshot(place: str, patterns: Sequence[str]) -> Path:
    """Return the folder of a Hub dataset, `owner/name` or `owner/name@revision`.

    Raises:
        UserError: It is neither in the cache nor to be had.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    hub_id, _, revision = place.partition("@")
    try:
        folder = snapshot_download(
            hub_id,
            repo_type="dataset",
            revision=revision or "main",
            allow_patterns=list(patterns),
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        first = str(error).strip().splitlines()[0]
        raise UserError(f"{place}: cannot be fetched from the Hub: {first}") from error
    return Path(folder)


def find_published(place: str) -> Path:
    """Return the folder of a built dataset, on the disk or from the Hub.

    Raises:
        UserError: It is neither.
    """
    if Path(place).is_dir():
        return Path(place)
    if not _is_hub_id(place):
        raise UserError(f"{place}: expected a dataset folder, or a dataset on the Hub (owner/name)")
    return fetch_snapshot(place, ["*.parquet", "*/*.parquet", "README.md", "manifest.json"])
