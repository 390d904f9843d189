"""A built dataset folder as columns, provenance included, images left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mteb_nano import manifest
from mteb_nano.errors import UserError
from mteb_nano.schema import source_name
from mteb_nano.tables import find_files, spelled

_STANDARD = {
    "corpus": ("id", "text", "source"),
    "queries": ("id", "text", "source"),
    "qrels": ("query", "document", "score"),
}
_PROVENANCE = {
    "corpus": ("source_corpus_id", "is_judged"),
    "queries": ("source_query_id",),
    "qrels": (),
}
_OPTIONAL = ("language", "source_query_group", "query_format")


@dataclass(frozen=True)
class Built:
    """The rows of a built dataset, in the order of the files.

    Attributes:
        pages: id, text, source, source_corpus_id, is_judged.
        queries: id, text, source, source_query_id, and, where the data have them, language,
            source_query_group and query_format.
        qrels: (query id, page id) -> grade; the last one, where a pair comes twice.
        manifest: None where the folder has none.
    """

    pages: list[dict[str, Any]]
    queries: list[dict[str, Any]]
    qrels: dict[tuple[str, str], Any]
    manifest: Mapping[str, Any] | None

    @property
    def holds_all(self) -> bool:
        """Whether it was built with --pool-size all, so that no quotas were kept."""
        return (self.manifest or {}).get("recipe", {}).get("pool_size") == "all"

    @property
    def sources(self) -> list[str]:
        """Names of the sources, sorted."""
        return sorted({page["source"] for page in self.pages} | {q["source"] for q in self.queries})


def read_built(folder: Path) -> Built:
    """Return the dataset in a folder in Hub layout.

    Raises:
        UserError: Files or columns are missing; all of them are named.
    """
    parts: dict[str, list[dict[str, Any]]] = {}
    faults = []
    for part in _STANDARD:
        try:
            parts[part] = _read_part(folder, part)
        except UserError as error:
            faults.append(str(error))
    if faults:
        raise UserError(f"{folder}: is no built dataset:\n  " + "\n  ".join(faults))
    qrels = {(str(row["query"]), str(row["document"])): row["score"] for row in parts["qrels"]}
    has_manifest = (folder / manifest.FILE_NAME).is_file()
    described = manifest.read_manifest(folder) if has_manifest else None
    return Built(parts["corpus"], parts["queries"], qrels, described)


def _read_part(folder: Path, part: str) -> list[dict[str, Any]]:
    """Return the rows of one table, under the names used here, ids as text."""
    files = find_files(folder, part)
    if not files:
        raise UserError(f"expected parquet files in {folder / part}, found none")
    names = spelled(files, part, _STANDARD[part])
    try:
        present = pq.read_schema(files[0]).names
        missing = sorted(set(_PROVENANCE[part]) - set(present))
        if missing:
            raise UserError(f"{files[0]}: misses the columns {', '.join(missing)}")
        columns = [*names, *_PROVENANCE[part], *(c for c in _OPTIONAL if c in present)]
        table = pa.concat_tables([pq.read_table(path, columns=columns) for path in files])
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{files[0]}: cannot be read ({error})") from error
    rows = table.rename_columns([names.get(column, column) for column in columns]).to_pylist()
    for row in rows:
        for key in ("id", "source_corpus_id", "source_query_id"):
            if key in row:
                row[key] = str(row[key])
        if "source" in row:
            row["source"] = source_name(row["source"])
    return rows
