"""Find and read the data files of a folder in Hub layout."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mteb_nano.errors import UserError

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
_SUFFIXES = (".parquet", ".jsonl", ".json", ".csv")


def find_files(folder: Path, config: str) -> list[Path]:
    """Return the files of a config's test split, sorted by name; empty when there are none.

    The `configs:` of `README.md` decide; without them, `CONFIG/`, `data/CONFIG/` and
    `data/CONFIG-*` are looked at, as the Hub does.
    """
    patterns = _card_patterns(folder).get(config) or [
        f"{config}/*",
        f"data/{config}/*",
        f"data/{config}-*",
    ]
    found = {p for pattern in patterns for p in folder.glob(pattern) if p.suffix in _SUFFIXES}
    in_split = [p for p in found if not re.match(r"(train|dev|validation)\b", p.name)]
    return sorted(in_split)


def _card_patterns(folder: Path) -> dict[str, list[str]]:
    """Return the test-split globs of each config that the dataset card names."""
    from huggingface_hub import metadata_load

    card = folder / "README.md"
    metadata = (metadata_load(card) if card.is_file() else None) or {}
    patterns: dict[str, list[str]] = {}
    for config in metadata.get("configs") or ():
        files = config.get("data_files") or ()
        for entry in [files] if isinstance(files, str | Mapping) else files:
            split = "test" if isinstance(entry, str) else entry.get("split", "test")
            paths = entry if isinstance(entry, str) else entry.get("path") or ()
            if split == "test":
                name = config.get("config_name", "default")
                patterns.setdefault(name, []).extend([paths] if isinstance(paths, str) else paths)
    return patterns


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
    columns = {name: SPELLINGS[part][name] for name in (*needed, *wanted)}
    tables = [_read_file(path, columns, set(needed)) for path in files]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        # Ids may be numbers in one file and text in another: `schema` says whether they collide.
        loose = [_ids_as_text(table) for table in tables]
        return pa.concat_tables(loose, promote_options="permissive")


def _ids_as_text(table: pa.Table) -> pa.Table:
    for index, item in enumerate(table.schema):
        if item.name in ("id", "query", "document") and pa.types.is_integer(item.type):
            table = table.set_column(index, item.name, table.column(index).cast(pa.string()))
    return table


def _read_file(path: Path, columns: Mapping[str, tuple[str, ...]], needed: set[str]) -> pa.Table:
    try:
        present = pq.read_schema(path).names if path.suffix == ".parquet" else None
        if present is None:
            return _rename(_read_text_format(path), columns, needed, path)
        names = [next((s for s in names if s in present), None) for names in columns.values()]
        _require(columns, present, needed, path)
        table = pq.read_table(path, columns=[n for n in names if n], partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    return _rename(table, columns, needed, path)


def _read_text_format(path: Path) -> pa.Table:
    import datasets

    kind = "csv" if path.suffix == ".csv" else "json"
    loaded = datasets.load_dataset(kind, data_files=[str(path)], split="train")
    return loaded.data.table  # type: ignore[union-attr]


def _require(
    columns: Mapping[str, tuple[str, ...]], present: Sequence[str], needed: set[str], path: Path
) -> None:
    missing = [
        " or ".join(f"`{s}`" for s in names)
        for name, names in columns.items()
        if name in needed and not any(s in present for s in names)
    ]
    if missing:
        raise UserError(
            f"{path}: expected the columns {', '.join(missing)}; found {', '.join(present)}"
        )


def _rename(
    table: pa.Table, columns: Mapping[str, tuple[str, ...]], needed: set[str], path: Path
) -> pa.Table:
    _require(columns, table.column_names, needed, path)
    picked = {
        name: next(s for s in names if s in table.column_names)
        for name, names in columns.items()
        if any(s in table.column_names for s in names)
    }
    return table.select(list(picked.values())).rename_columns(list(picked))


def spelled(files: Sequence[Path], part: str, needed: Sequence[str]) -> dict[str, str]:
    """Return name in the files -> name here, for needed columns of parquet files.

    Raises:
        UserError: A file cannot be read, or lacks a needed column.
    """
    columns = {name: SPELLINGS[part][name] for name in needed}
    present: list[str] = []
    for path in files:
        try:
            present = pq.read_schema(path).names
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from None
        _require(columns, present, set(needed), path)
    return {next(s for s in names if s in present): name for name, names in columns.items()}


def _unreadable(path: Path, error: Exception) -> UserError:
    first = str(error).splitlines()[0]
    return UserError(f"{path}: cannot be read ({first}); fetch or build it again")


def values(table: pa.Table, name: str) -> list[Any] | None:
    """Return a column as a list, or None when the table has no such column."""
    return table.column(name).to_pylist() if name in table.column_names else None
