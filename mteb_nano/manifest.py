"""`manifest.json`, the self-description of a dataset folder. Standard library only.

Fields: `name`, `kind` (`page-retrieval` | `ocr-retrieval`), `version`, `license`, `sources` (name,
pages, queries) or `languages` and `settings`, `query_languages`, `grades`, `counts`, `cer`,
`recipe`, `made_from`, `tools`, `files` (path -> sha256, bytes). No time stamps and no host names:
the same input gives the same bytes.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mteb_nano.errors import UserError

FILE_NAME = "manifest.json"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a dataset folder.

    Raises:
        UserError: There is none, or it is not a JSON object.
    """
    path = folder / FILE_NAME
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(
            f"{folder}: expected a dataset folder with a {FILE_NAME}, found none; "
            "the builders write one (python -m builders.vidore --help)"
        ) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: expected JSON, {error}") from None
    if not isinstance(manifest, dict):
        raise UserError(f"{path}: expected a JSON object, found {type(manifest).__name__}")
    return manifest


def dump_manifest(manifest: Mapping[str, Any]) -> bytes:
    """Return the bytes of a manifest file: sorted keys, so that equal content is equal bytes."""
    text = json.dumps(manifest, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False)
    return text.encode() + b"\n"


def revision_of(folder: Path) -> str:
    """Return `local-` and 12 hex digits that stand for the folder's content.

    With a manifest they are of its sha256 (it holds the hash of every file; `verify_files` checks
    them), without one of the names and hashes of all parquet files.
    """
    path = folder / FILE_NAME
    if path.is_file():
        digest = sha256_of(path)
    else:
        lines = [f"{p.relative_to(folder).as_posix()} {sha256_of(p)}\n" for p in data_files(folder)]
        digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return f"local-{digest[:12]}"


def data_files(folder: Path) -> list[Path]:
    """Return the parquet files below a folder in the order of their names."""
    return sorted(p for p in folder.rglob("*.parquet") if p.is_file())


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's content as hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_entry(path: Path) -> dict[str, str | int]:
    """Return what the manifest's `files` says of one file."""
    return {"sha256": sha256_of(path), "bytes": path.stat().st_size}


def verify_files(folder: Path, *, manifest: Mapping[str, Any] | None = None) -> list[str]:
    """Return one line for each file that is missing, added or not what the manifest says."""
    files = (manifest or read_manifest(folder)).get("files")
    if not isinstance(files, dict):
        return [f"{folder / FILE_NAME}: `files` (path -> sha256, bytes) is missing"]
    faults = []
    for name, entry in sorted(files.items()):
        path = folder / name
        # By name only: a snapshot in the Hub's cache is made of links to files elsewhere.
        if Path(name).is_absolute() or ".." in Path(name).parts:
            faults.append(f"{name}: the manifest names a file outside of {folder}")
        elif not path.is_file():
            faults.append(f"{name}: the manifest names it, but it does not exist")
        elif path.stat().st_size != entry.get("bytes"):
            size = path.stat().st_size
            faults.append(f"{name}: {size} bytes, the manifest says {entry.get('bytes')}")
        elif sha256_of(path) != entry.get("sha256"):
            faults.append(f"{name}: sha256 is not the manifest's; fetch or build the file again")
    known = set(files)
    for path in data_files(folder):
        name = path.relative_to(folder).as_posix()
        if name not in known:
            faults.append(f"{name}: not in the manifest")
    return faults
