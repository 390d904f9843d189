"""Find and read the data files of a folder in Hub layout."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mteb_nano.errors import UserError
from mteb_nano.manifest import DATA_SUFFIXES

# What each column is called in the repositories in use, the usual name first.
SPELLINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "corpus": {
        "id": ("_id", "id", "corpus_id", "corpus-id"),
        "image": ("image",),
        "text": ("markdown", "text"),
        "clean_text": ("clean_text",),
        "ocr_text": ("ocr_text",),
        "source": ("source_dataset",),
    },
    "queries": {
        "id": ("_id", "id", "query_id", "query-id"),
        "text": ("query", "text"),
        "clean_text": ("clean_text",),
        "ocr_text": ("ocr_text",),
        "source": ("source_dataset",),
        "language": ("language",),
        "format": ("query_format",),
    },
    "qrels": {
        "query": ("query_id", "query-id"),
        "document": ("corpus_id", "corpus-id"),
        "score": ("score",),
    },
}
_OTHER_SPLIT = re.compile(r"(train|dev|valid|validation)(?![A-Za-z])")


def find_files(folder: Path, config: str) -> list[Path]:
    """Return the files of a config's test split, sorted by name; empty when there are none.

    The `configs:` of `README.md` decide; without them, `CONFIG/`, `CONFIG/test/`, `data/CONFIG/`
    and `data/CONFIG-*` are looked at, in this order. Files of one format are taken, parquet first.

    Raises:
        UserError: `README.md` cannot be read, or names files outside of the folder.
    """
    named = _card_patterns(folder).get(config)
    usual = [f"{config}/*", f"{config}/test/*", f"data/{config}/*", f"data/{config}-*"]
    for patterns in [named] if named else [[pattern] for pattern in usual]:
        found = {p for pattern in patterns for p in _matches(folder, pattern)}
        # A named pipe would be waited for; a broken link is left, to be told by its name.
        files = [p for p in found if p.is_file() or p.is_symlink()]
        in_split = [p for p in files if not _OTHER_SPLIT.match(p.name)]
        for suffix in DATA_SUFFIXES:
            if of_format := sorted(p for p in in_split if p.suffix == suffix):
                return of_format
    return []


def _matches(folder: Path, pattern: str) -> Iterable[Path]:
    try:
        # To the Hub `data/**` is files at any depth, to `glob` it is folders.
        return list(folder.glob(f"{pattern}/*" if pattern.endswith("**") else pattern))
    except (ValueError, NotImplementedError, OSError) as error:
        raise UserError(f"{folder}: cannot look for {pattern!r} ({error})") from None


def _card_patterns(folder: Path) -> Mapping[str, list[str]]:
    """Return the test-split globs of each config that the dataset card names."""
    card = folder / "README.md"
    if not card.is_file():
        return {}
    state = card.stat()
    return _patterns_in(card, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=32)  # asked for every config; the time and size make a changed file anew
def _patterns_in(card: Path, _mtime: int, _size: int) -> Mapping[str, list[str]]:
    from huggingface_hub import metadata_load

    try:
        metadata = metadata_load(card) or {}
    except Exception as error:  # noqa: BLE001  YAML's errors, and text that is not UTF-8
        reason = " ".join(str(error).split())[:120]
        raise UserError(f"{card}: its front matter cannot be read ({reason})") from None
    patterns: dict[str, list[str]] = {}
    for config in _list_of(metadata.get("configs"), Mapping):
        name = str(config.get("config_name", "default"))
        files = config.get("data_files")
        if files is None and isinstance(config.get("data_dir"), str):
            files = f"{config['data_dir'].rstrip('/')}/*"
        for entry in _list_of(files, str | Mapping):
            split = entry.get("split", "test") if isinstance(entry, Mapping) else "test"
            paths = entry.get("path") if isinstance(entry, Mapping) else entry
            if split == "test":
                patterns.setdefault(name, []).extend(_list_of(paths, str))
    outside = [p for found in patterns.values() for p in found if not _is_inside(p)]
    if outside:
        raise UserError(f"{card}: names files outside of the folder: {', '.join(outside)}")
    return patterns


def _list_of(value: Any, kind: Any) -> list[Any]:
    """Return what is of a kind in a list, or in a list of this one value."""
    return [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, kind)]


def _is_inside(pattern: str) -> bool:
    return bool(pattern) and not pattern.startswith("/") and ".." not in Path(pattern).parts


def read_table(
    files: Sequence[Path], part: str, *, needed: Iterable[str], wanted: Iterable[str] = ()
) -> pa.Table:
    """Return the columns of a part (`corpus`, `queries`, `qrels`) under their names here.

    Args:
        files: At least one file; each is opened once.
        part: Which table of `SPELLINGS` applies.
        needed: Columns that must be there.
        wanted: Columns that are read if they are there.

    Raises:
        UserError: A file cannot be read, or lacks a needed column.
    """
    needed = list(needed)
    columns = {name: SPELLINGS[part][name] for name in (*needed, *wanted)}
    tables = [_read_file(path, columns, set(needed)) for path in files]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        # Ids may be numbers in one file and text in another: `schema` says whether they collide.
        loose = [_ids_as_text(table) for table in tables]
    try:
        return pa.concat_tables(loose, promote_options="permissive")
    except pa.ArrowException as error:
        raise UserError(
            f"{files[0].parent}: its {len(files)} files differ in their types ({_first(error)})"
        ) from None


def _ids_as_text(table: pa.Table) -> pa.Table:
    for index, item in enumerate(table.schema):
        if item.name in {"id", "query", "document"} and pa.types.is_integer(item.type):
            table = table.set_column(index, item.name, table.column(index).cast(pa.string()))
    return table


def _read_file(path: Path, columns: Mapping[str, tuple[str, ...]], needed: set[str]) -> pa.Table:
    try:
        if path.suffix == ".parquet":
            with pq.ParquetFile(path) as file:
                picked = _pick(columns, file.schema_arrow.names, needed, path)
                table = file.read(columns=list(picked))
        else:
            table = _read_json_lines(path)
            picked = _pick(columns, table.column_names, needed, path)
        table.validate(full=True)  # text that is not UTF-8 fails here, not in the middle of a run
    except UserError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    return table.select(list(picked)).rename_columns(list(picked.values()))


def _read_json_lines(path: Path) -> pa.Table:
    lines = path.read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line.strip()]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("expected a JSON object in each line")
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def _pick(
    columns: Mapping[str, tuple[str, ...]], present: Sequence[str], needed: set[str], path: Path
) -> dict[str, str]:
    """Return name in the file -> name here.

    Raises:
        UserError: A needed column is missing, or stands there twice.
    """
    found = {
        name: next((s for s in names if s in present), None) for name, names in columns.items()
    }
    missing = [
        " or ".join(f"`{s}`" for s in columns[name])
        for name, spelling in found.items()
        if spelling is None and name in needed
    ]
    if missing:
        raise UserError(
            f"{path}: expected the columns {', '.join(missing)}; found {', '.join(present)}"
        )
    picked = {spelling: name for name, spelling in found.items() if spelling is not None}
    if twice := [spelling for spelling in picked if list(present).count(spelling) > 1]:
        raise UserError(f"{path}: the columns {', '.join(twice)} stand there twice")
    return picked


def spelled(files: Sequence[Path], part: str, needed: Sequence[str]) -> dict[str, str]:
    """Return name in the files -> name here, for needed columns of parquet files.

    Raises:
        UserError: A file cannot be read or lacks a needed column, or the files differ.
    """
    columns = {name: SPELLINGS[part][name] for name in needed}
    picked: dict[str, str] = {}
    for path in files:
        try:
            present = pq.read_schema(path).names
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from None
        found = _pick(columns, present, set(needed), path)
        if picked and found != picked:
            raise UserError(
                f"{path}: its columns are {', '.join(found)}, those of {files[0].name} are "
                f"{', '.join(picked)}; write all files of a config alike"
            )
        picked = found
    return picked


def n_rows(files: Sequence[Path]) -> int:
    """Return how many rows files have, from their ends alone where the format allows.

    Raises:
        UserError: A file cannot be read.
    """
    n = 0
    for path in files:
        try:
            if path.suffix == ".parquet":
                n += pq.read_metadata(path).num_rows
            else:
                n += sum(1 for line in path.read_bytes().split(b"\n") if line.strip())
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from None
    return n


def _unreadable(path: Path, error: Exception) -> UserError:
    return UserError(f"{path}: cannot be read ({_first(error)}); fetch or build it again")


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def values(table: pa.Table, name: str) -> list[Any] | None:
    """Return a column as a list, or None when the table has no such column."""
    return table.column(name).to_pylist() if name in table.column_names else None
