"""Where sources lie: `NAME=WHERE` or `WHERE`, a folder or a dataset repository on the Hub."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from builders.vidore.recipe import HUB_SOURCES
from builders.vidore.sources import PARTS, Source, read_source
from mteb_nano.errors import UserError

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(@[\w.-]+)?")
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
            raise UserError(f"--sources: {name} is named twice; write NAME=PLACE to tell them apart")
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
            hub_id, _, revision = place.partition("@")
            folder = _fetch(hub_id, revision or "main")
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


def _fetch(hub_id: str, revision: str) -> Path:
    """Return the folder of a Hub snapshot, downloading what is missing."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    patterns = [f"{part}/*.parquet" for part in (*PARTS, "documents_metadata")]
    try:
        folder = snapshot_download(
            hub_id, repo_type="dataset", revision=revision, allow_patterns=patterns
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise UserError(f"{hub_id}@{revision}: cannot be fetched from the Hub: {error}") from error
    return Path(folder)
