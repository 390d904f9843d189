"""Read page collections in ViDoRe v3's schema: Hub repositories or folders, checked at the border.

A source has the tables `corpus`, `queries`, `qrels` and, if it likes, `documents_metadata`, each a
folder of parquet files. Images are never decoded here and never all in memory: they are hashed as
they stream by, and read again when they are needed.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from builders.vidore.source_tables import (
    PARTS,
    batches,
    check_columns,
    id_faults,
    natural,
    raise_faults,
    read_group,
)
from mteb_nano.errors import UserError


@dataclass(frozen=True)
class Query:
    """A query of a source."""

    id: str
    text: str
    language: str
    query_format: str = ""
    answer: str = ""


@dataclass(frozen=True)
class Source:
    """A page collection with its queries, all sorted by id; images stay on disk.

    Attributes:
        origin: Hub id, or name of the folder.
        revision: Commit of the Hub repository, or "" for a folder.
        page_ids: Ids of the pages.
        markdown: Text of each page, "" where there is none.
        image_hashes: First 32 hex digits of the sha256 of each page's image bytes.
        details: doc_id, page_number_in_doc and license of each page, where known.
        fingerprint: sha256 over the content; the order of rows and files does not matter.
        row_of: Page id -> its place in `page_ids`.
        row_groups: File and row group of each page's image.
    """

    name: str
    origin: str
    revision: str
    folder: Path
    page_ids: Sequence[str]
    markdown: pa.ChunkedArray
    image_hashes: Sequence[str]
    details: Sequence[Mapping[str, Any]]
    queries: Mapping[str, Query]
    qrels: Mapping[str, Mapping[str, int]]
    fingerprint: str
    row_of: Mapping[str, int] = field(repr=False, default_factory=dict)
    row_groups: Sequence[tuple[str, int]] = field(repr=False, default=())

    @property
    def has_text(self) -> bool:
        """Whether any page has text; scans have none."""
        return any(text.as_py().strip() for text in self.markdown)

    def images(self, wanted: Collection[str] | None = None) -> Iterator[tuple[str, bytes]]:
        """Yield (page id, image bytes) of the wanted pages, in the order of the files.

        Only the row groups that hold a wanted page are read.
        """
        ids = self.page_ids if wanted is None else wanted
        groups = sorted({self.row_groups[self.row_of[page_id]] for page_id in ids})
        for path, group in groups:
            for batch in read_group(self.folder / path, group, ["corpus_id", "image"]):
                for page_id, image in zip(batch["corpus_id"], batch["image"], strict=True):
                    if wanted is None or str(page_id) in wanted:
                        yield str(page_id), image["bytes"].as_py()


def read_source(name: str, folder: Path, *, origin: str, revision: str = "") -> Source:
    """Return the source in a folder, after checking it from end to end.

    Raises:
        UserError: Missing tables or columns, duplicate ids, qrels that name unknown rows, queries
            without positives, empty queries, pages without image; all faults are listed.
    """
    check_columns(name, folder)
    pages = _read_pages(name, folder)
    queries = _read_queries(name, folder)
    qrels = _read_qrels(name, folder)
    row_of = {page_id: row for row, page_id in enumerate(pages["ids"])}
    faults = _qrel_faults(queries, qrels, row_of)
    raise_faults(name, faults)
    qrels = {query_id: dict(sorted(qrels[query_id].items())) for query_id in queries}
    return Source(
        name=name,
        origin=origin,
        revision=revision,
        folder=folder,
        page_ids=pages["ids"],
        markdown=pages["markdown"],
        image_hashes=pages["hashes"],
        details=_page_details(folder, pages),
        queries=queries,
        qrels=qrels,
        fingerprint=_fingerprint(pages, queries, qrels),
        row_of=row_of,
        row_groups=pages["groups"],
    )


def _read_pages(name: str, folder: Path) -> dict[str, Any]:
    """Return ids, markdown, image hashes, row groups and raw details of the pages, by id."""
    paths = sorted((folder / "corpus").glob("*.parquet"))
    names = pq.read_schema(paths[0]).names
    extra = [column for column in ("doc_id", "page_number_in_doc", "license") if column in names]
    tables, hashes, groups, faults = [], [], [], []
    for path in paths:
        for group in range(pq.read_metadata(path).num_row_groups):
            for batch in read_group(path, group, ["corpus_id", "image", "markdown", *extra]):
                for page_id, image in zip(batch["corpus_id"], batch["image"], strict=True):
                    content = _image_bytes(image)
                    hashes.append(hashlib.sha256(content).hexdigest()[:32])
                    if not content:
                        faults.append(f"corpus: page {page_id} has no image bytes")
                groups += [(f"corpus/{path.name}", group)] * batch.num_rows
                tables.append(pa.Table.from_batches([batch]).drop_columns("image"))
    if not hashes:
        raise UserError(f"{name}: its corpus has no pages")
    table = _with_large_text(pa.concat_tables(tables))
    ids = [str(value) for value in table["corpus_id"].to_pylist()]
    raise_faults(name, faults + id_faults("corpus", "corpus_id", ids))
    order = sorted(range(len(ids)), key=lambda row: natural(ids[row]))
    table = table.take(pa.array(order, pa.int64()))
    return {
        "ids": [ids[row] for row in order],
        "hashes": [hashes[row] for row in order],
        "groups": [groups[row] for row in order],
        "markdown": pc.fill_null(table["markdown"], ""),
        "extra": table.select(extra).to_pylist() if extra else [{} for _ in ids],
    }


def _with_large_text(table: pa.Table) -> pa.Table:
    """Return the table with 64-bit text offsets: together, texts may be longer than 2 GB."""
    column = table.column_names.index("markdown")
    return table.set_column(column, "markdown", table["markdown"].cast(pa.large_string()))


def _image_bytes(image: pa.Scalar) -> bytes:
    """Return the bytes of a cell of the image column, b"" where there are none."""
    if isinstance(image, pa.StructScalar) and image.is_valid:
        return image.as_py().get("bytes") or b""
    return b""


def _read_queries(name: str, folder: Path) -> dict[str, Query]:
    """Return the queries by id."""
    rows = [row for batch in batches(folder, "queries", None) for row in batch.to_pylist()]
    faults = id_faults("queries", "query_id", [str(row["query_id"]) for row in rows])
    faults += [
        f"queries: {row['query_id']} has no {column}"
        for row in rows
        for column in ("query", "language")
        if not str(row[column] or "").strip()
    ]
    if not rows:
        faults.append("queries: has no rows")
    raise_faults(name, faults)
    queries = [
        Query(
            str(row["query_id"]),
            row["query"],
            row["language"],
            row.get("query_format") or "",
            str(row.get("answer") or ""),
        )
        for row in rows
    ]
    return {query.id: query for query in sorted(queries, key=lambda query: natural(query.id))}


def _read_qrels(name: str, folder: Path) -> dict[str, dict[str, int]]:
    """Return query id -> page id -> grade."""
    qrels: dict[str, dict[str, int]] = {}
    faults = []
    for batch in batches(folder, "qrels", list(PARTS["qrels"])):
        for row in batch.to_pylist():
            query_id, page_id, grade = str(row["query_id"]), str(row["corpus_id"]), row["score"]
            if not isinstance(grade, int | float) or grade != int(grade) or grade < 1:
                faults.append(
                    f"qrels: ({query_id}, {page_id}) has the grade {grade!r}, wanted 1, 2, ..."
                )
            elif page_id in qrels.setdefault(query_id, {}):
                faults.append(f"qrels: ({query_id}, {page_id}) comes more than once")
            else:
                qrels[query_id][page_id] = int(grade)
    raise_faults(name, faults)
    return qrels


def _qrel_faults(
    queries: Mapping[str, Query],
    qrels: Mapping[str, Mapping[str, int]],
    row_of: Mapping[str, int],
) -> list[str]:
    """Return what does not fit between queries, qrels and pages."""
    faults = [
        f"queries: {i} has no positive page in the qrels" for i in queries if not qrels.get(i)
    ]
    faults += [f"qrels: unknown query {i}" for i in sorted(qrels, key=natural) if i not in queries]
    unknown = {p for grades in qrels.values() for p in grades if p not in row_of}
    return faults + [f"qrels: unknown page {p}" for p in sorted(unknown, key=natural)]


def _page_details(folder: Path, pages: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return doc_id, page number and licence of each page, in the order of the pages."""
    licenses: dict[str, str] = {}
    for batch in batches(folder, "documents_metadata", None):
        for row in batch.to_pylist():
            licenses[str(row.get("doc_id"))] = row.get("license") or ""
    details = []
    for row in pages["extra"]:
        doc_id = "" if row.get("doc_id") is None else str(row["doc_id"])
        number = row.get("page_number_in_doc")
        license_ = row.get("license") or licenses.get(doc_id) or ""
        details.append({"doc_id": doc_id, "page_number_in_doc": number, "license": license_})
    return details


def _fingerprint(
    pages: Mapping[str, Any],
    queries: Mapping[str, Query],
    qrels: Mapping[str, Mapping[str, int]],
) -> str:
    """Return a sha256 of the content in the order of ids."""
    digest = hashlib.sha256()
    for page_id, image_hash, text in zip(
        pages["ids"], pages["hashes"], pages["markdown"], strict=True
    ):
        text_hash = hashlib.sha256(text.as_py().encode()).hexdigest()
        digest.update(f"p\x1f{page_id}\x1f{image_hash}\x1f{text_hash}\n".encode())
    for query in queries.values():
        row = [*astuple(query), sorted(qrels[query.id].items())]
        digest.update(f"q\x1f{json.dumps(row)}\n".encode())
    return digest.hexdigest()
