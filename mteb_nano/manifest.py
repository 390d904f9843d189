"""`manifest.json`, the self-description of a dataset folder. Standard library only.

Fields: `name`, `kind` (`page-retrieval` | `ocr-retrieval`), `version`, `license`, `sources` (name,
pages, queries) or `languages` and `settings`, `query_languages`, `grades`, `counts`, `cer`,
`recipe`, `made_from`, `tools`, `files` (path -> sha256, bytes). No time stamps and no host names:
the same input gives the same bytes.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from mteb_nano.errors import UserError

FILE_NAME = "manifest.json"
DATA_SUFFIXES = (".parquet", ".jsonl")  # the first that a config has is read
_NEEDED = {"page-retrieval": ("sources",), "ocr-retrieval": ("languages", "settings")}
# Both name files, and `{lang}_{setting}_{mode}` is taken apart at its first underscore.
_LANGUAGE = re.compile(r"[A-Za-z0-9-]+")
_SETTING = re.compile(r"\w[\w.-]*")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a dataset folder.

    Raises:
        UserError: There is none, it is not a JSON object, or fields are not as they should be; all
            such fields are named.
    """
    path = folder / FILE_NAME
    try:
        if not path.is_file():  # opening a pipe would wait for ever
            raise UserError(
                f"{folder}: expected a dataset folder with a {FILE_NAME}, found none; "
                "the builders write one (python -m builders.vidore --help, "
                "python -m builders.ocr_mldr --help)"
            )
        manifest = json.loads(path.read_bytes())
    except RecursionError:
        raise UserError(f"{path}: expected JSON, found it nested too deeply to read") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path}: expected JSON, {error}") from None
    if not isinstance(manifest, dict):
        raise UserError(f"{path}: expected a JSON object, found {type(manifest).__name__}")
    if faults := field_faults(manifest):
        raise UserError(f"{path}: " + "; ".join(faults))
    return manifest


def is_task_name(name: object) -> bool:
    """Return whether a task can have this name, which becomes the name of its result files."""
    return isinstance(name, str) and name != "" and all(c.isalnum() or c in "_.-" for c in name)


def field_faults(manifest: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the fields that loading relies on."""
    name, kind = manifest.get("name"), manifest.get("kind")
    faults = []
    if not is_task_name(name):
        faults.append(f"`name` must be letters, digits, `_`, `.` or `-`, got {name!r}")
    if not isinstance(kind, str) or kind not in _NEEDED:
        faults.append(f"`kind` must be `page-retrieval` or `ocr-retrieval`, got {kind!r}")
    faults += [
        f"`{key}` must be a list with at least one entry, got {manifest.get(key)!r}"
        for key in _NEEDED.get(str(kind), ())
        if not isinstance(manifest.get(key), list) or not manifest[key]
    ]
    rules = {
        "sources": (
            "objects, each with a printable `name`, different also without `vidore_v3_`",
            _are_sources,
        ),
        "languages": ("different codes of letters, digits or `-`", _are_languages),
        "settings": ("different words of letters, digits, `_`, `.` or `-`", _are_settings),
        "query_languages": ("different words", _are_words),
        "grades": ("whole numbers, one of them above 0", _are_grades),
    }
    for key, (expected, holds) in rules.items():
        value = manifest.get(key, [])
        if not isinstance(value, list) or (value and not holds(value)):
            faults.append(f"`{key}` must be a list of {expected}, got {value!r}")
    if not isinstance(manifest.get("counts", {}), dict):
        faults.append(f"`counts` must be an object, got {manifest['counts']!r}")
    return list(dict.fromkeys(faults))


def _are_words(values: list[Any]) -> bool:
    return all(isinstance(v, str) and v.strip() for v in values) and len(set(values)) == len(values)


def _are_sources(values: list[Any]) -> bool:
    names: list[Any] = [v.get("name") if isinstance(v, dict) else None for v in values]
    if not _are_words(names) or not all(name.isprintable() for name in names):
        return False
    return len({source_name(name) for name in names}) == len(names)


def source_name(value: str) -> str:
    """Return `hr` for `vidore/vidore_v3_hr`, `vidore_v3_hr` and `hr`; other names as they are."""
    return value.rsplit("/", 1)[-1].removeprefix("vidore_v3_")


def _are_languages(values: list[Any]) -> bool:
    return _are_words(values) and all(_LANGUAGE.fullmatch(v) for v in values)


def _are_settings(values: list[Any]) -> bool:
    return _are_words(values) and all(_SETTING.fullmatch(v) for v in values)


def _are_grades(values: list[Any]) -> bool:
    return all(isinstance(v, int) and not isinstance(v, bool) for v in values) and max(values) > 0


def dump_manifest(manifest: Mapping[str, Any]) -> bytes:
    """Return the bytes of a manifest file: sorted keys, so that equal content is equal bytes."""
    text = json.dumps(manifest, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False)
    return text.encode() + b"\n"


def revision_of(folder: Path) -> str:
    """Return `local-` and 12 hex digits that stand for the folder's content.

    With a manifest they are of its sha256 (it holds the hash of every file; `verify_files` checks
    them), without one of the names and hashes of all files with tables.
    """
    path = folder / FILE_NAME
    if path.is_file():
        digest = sha256_of(path)
    else:
        lines = [f"{p.relative_to(folder).as_posix()} {sha256_of(p)}\n" for p in data_files(folder)]
        digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return f"local-{digest[:12]}"


def data_files(folder: Path) -> list[Path]:
    """Return the files with tables below a folder in the order of their names."""
    found = (p for p in folder.rglob("*") if p.suffix in DATA_SUFFIXES and p.is_file())
    return sorted(found, key=lambda p: p.relative_to(folder).as_posix())


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's content as hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def known_sha256(path: Path) -> str:
    """Return the sha256 of a file's content, computed once in this process while it is unchanged.

    Loading asks for a page corpus's hash twice for each task, and that file is gigabytes.
    """
    state = path.stat()
    # Unlike the time of the content, the time of the change (ctime) cannot be set by `cp -p`.
    return _sha256_at(path, state.st_ino, state.st_size, state.st_ctime_ns)


@lru_cache(maxsize=256)
def _sha256_at(path: Path, *_state: int) -> str:
    return sha256_of(path)


def file_entry(path: Path) -> dict[str, str | int]:
    """Return what the manifest's `files` says of one file."""
    return {"sha256": sha256_of(path), "bytes": path.stat().st_size}


def verify_files(
    folder: Path,
    *,
    manifest: Mapping[str, Any] | None = None,
    only: Iterable[Path] | None = None,
) -> list[str]:
    """Return one line for each file that is missing, added or not what the manifest says.

    Args:
        folder: A dataset folder.
        manifest: Its manifest, if it has been read.
        only: Look at these files alone; a download may hold some languages only.
    """
    files = (manifest or read_manifest(folder)).get("files")
    if not isinstance(files, dict):
        return [f"{folder / FILE_NAME}: `files` (path -> sha256, bytes) is missing"]
    if only is None:
        # Results and notes may lie in the folder; a parquet file more would be read as data.
        tables = [p for p in data_files(folder) if p.suffix == ".parquet"]
        names = {*files, *(p.relative_to(folder).as_posix() for p in tables)}
    else:
        names = {p.relative_to(folder).as_posix() for p in only}
    faults = ((name, _file_fault(folder, name, files.get(name))) for name in sorted(names))
    return [f"{name}: {fault}" for name, fault in faults if fault]


def _file_fault(folder: Path, name: str, entry: Any) -> str | None:
    # By name only: a snapshot in the Hub's cache is made of links to files elsewhere.
    if Path(name).is_absolute() or ".." in Path(name).parts:
        return f"the manifest names a file outside of {folder}"
    if entry is None:
        return "not in the manifest"
    if not isinstance(entry, dict) or not {"sha256", "bytes"} <= entry.keys():
        return f"the manifest must give its `sha256` and `bytes`, got {entry!r}"
    try:
        return _content_fault(folder / name, entry)
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def _content_fault(path: Path, entry: Mapping[str, Any]) -> str | None:
    if not path.is_file():
        return "the manifest names it, but it does not exist"
    size = path.stat().st_size
    if size != entry["bytes"]:
        return f"{size} bytes, the manifest says {entry['bytes']}"
    if known_sha256(path) != entry["sha256"]:
        return "sha256 is not the manifest's; fetch or build the file again"
    return None
