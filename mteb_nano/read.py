"""The files of a dataset -> its tables as columns, and every fault that they have."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import datasets
import datasets.exceptions
import pyarrow as pa

from mteb_nano import catalog, manifest, schema, tables
from mteb_nano.catalog import Dataset
from mteb_nano.errors import UserError
from mteb_nano.images import image_fault

PageMode = Literal["image", "markdown", "image+markdown"]
PAGE_COLUMNS: Mapping[PageMode, tuple[str, ...]] = {
    "image": ("image",),
    "markdown": ("text",),
    "image+markdown": ("image", "text"),
}
Columns = dict[str, Any]  # name -> values, or None where the data have no such column


def as_found(dataset: Dataset, folder: Path) -> Dataset:
    """Return the dataset as the folder's manifest describes it, if it has one.

    Data put in the place of a published dataset keep its sources, languages and settings; counts
    and grades are those of their own manifest.
    """
    if not (folder / manifest.FILE_NAME).is_file():
        return dataset
    found = catalog.from_manifest(manifest.read_manifest(folder), folder)
    if found.kind != dataset.kind:
        raise UserError(f"{folder}: holds {found.kind} data, {dataset.name} needs {dataset.kind}")
    return replace(
        found,
        name=dataset.name,
        sources=dataset.sources,
        languages=dataset.languages,
        settings=dataset.settings,
        query_languages=found.query_languages or dataset.query_languages,
    )


def manifest_faults(folder: Path, only: Iterable[Path] | None = None) -> list[str]:
    """Return the files that are not what the manifest says; none when there is no manifest."""
    if not (folder / manifest.FILE_NAME).is_file():
        return []
    return manifest.verify_files(folder, only=only)


@dataclass(frozen=True)
class Pages:
    """A page dataset: its tables as columns, and the corpus as mteb wants it (`id`, content)."""

    corpus: Columns
    queries: Columns
    qrels: Columns
    documents: datasets.Dataset


def read_pages(folder: Path, mode: PageMode) -> Pages:
    """Return the tables of a page dataset; images stay encoded, on disk.

    Raises:
        UserError: Files or columns are missing; all of them are named.
    """
    faults: list[str] = []
    corpus: Columns = {}
    documents = None
    try:
        corpus, documents = _read_corpus(folder, mode)
    except UserError as error:
        faults.append(str(error))
    queries, fault = _read_part(
        folder, "queries", "queries", ["id", "text", "source"], ["language", "format"]
    )
    qrels, more = _read_part(folder, "qrels", "qrels", ["query", "document", "score"], [])
    raise_faults(folder, [*faults, *fault, *more])
    return Pages(corpus, queries, qrels, cast("datasets.Dataset", documents))


def read_ocr(
    folder: Path, dataset: Dataset, pairs: Iterable[str]
) -> tuple[dict[str, tuple[Columns, Columns, Columns]], list[str]]:
    """Return `{lang}_{setting}` -> corpus, queries and qrels, and the faults of all of them."""
    texts = ["id", "clean_text", "ocr_text"]
    needed = {"corpus": texts, "queries": texts, "qrels": ["query", "document", "score"]}
    parts, faults = {}, []
    for pair in pairs:
        read, missing = {}, []
        for part in catalog.PARTS:
            read[part], fault = _read_part(folder, f"{pair}_{part}", part, needed[part], [])
            missing += fault
        if not missing:
            parts[pair] = (read["corpus"], read["queries"], read["qrels"])
            found = schema.ocr_faults(*parts[pair], grades=dataset.grades)
            counts = ocr_counts(pair, *parts[pair])
            missing = [f"{pair}: {fault}" for fault in found]
            missing += [f"{pair}: {line}" for line in schema.count_faults(counts, dataset)]
        faults += missing
    return parts, faults


def ocr_counts(pair: str, corpus: Columns, queries: Columns, qrels: Columns) -> dict[str, int]:
    """Return the rows of a language's corpus and queries, under the names of the catalog."""
    del qrels
    lang = pair.split("_", 1)[0]
    return {f"{lang}_corpus": len(corpus["id"]), f"{lang}_queries": len(queries["id"])}


def _read_part(
    folder: Path, config: str, part: str, needed: Sequence[str], optional: Sequence[str]
) -> tuple[Columns, list[str]]:
    try:
        files = config_files(folder, config)
        table = tables.read_table(files, part, needed=needed, wanted=optional)
    except UserError as error:
        return {}, [str(error)]
    return {name: tables.values(table, name) for name in (*needed, *optional)}, []


def config_files(folder: Path, config: str) -> list[Path]:
    """Return the files of a config's test split.

    Raises:
        UserError: There are none.
    """
    files = tables.find_files(folder, config)
    if not files:
        raise UserError(
            f"{config}: expected {config}/test-*.parquet or data/{config}/*.parquet, found neither"
        )
    return files


def _read_corpus(folder: Path, mode: PageMode) -> tuple[Columns, datasets.Dataset]:
    """Return the corpus as columns without the images, and as mteb wants it."""
    needed = ["id", "source", *PAGE_COLUMNS[mode]]
    files = config_files(folder, "corpus")
    if "image" in mode:
        pages = _mapped(files, needed)
        texts = pages.data
        columns = {name: texts.column(name).to_pylist() for name in needed if name != "image"}
    else:
        table = tables.read_table(files, "corpus", needed=needed)
        columns = {name: tables.values(table, name) for name in needed}
        pages = datasets.Dataset(table)
    ids = pa.array(map(str, columns["id"] or ()), type=pa.string())
    pages = pages.select_columns(list(PAGE_COLUMNS[mode]))
    with_ids = [datasets.Dataset(pa.table({"id": ids})), cast("datasets.Dataset", pages)]
    return columns, datasets.concatenate_datasets(with_ids, axis=1)


def _mapped(files: Sequence[Path], needed: Sequence[str]) -> datasets.Dataset:
    """Return columns through the library's memory-mapped cache: page images are gigabytes."""
    spelled = tables.spelled(files, "corpus", needed)
    # The library knows a cached copy by the files' times alone, which `cp -p` and `tar` keep.
    digest = hashlib.sha256("".join(map(manifest.known_sha256, files)).encode()).hexdigest()
    try:
        pages = datasets.Dataset.from_parquet(
            [str(f) for f in files],
            split=datasets.Split.TEST,
            columns=list(spelled),
            config_name=f"pages-{digest[:32]}",
        )
        pages = pages.rename_columns({old: new for old, new in spelled.items() if old != new})
        for name in set(spelled.values()) - {"image"}:
            pages.data.column(name).validate(full=True)  # text that is not UTF-8 fails here
    except (datasets.exceptions.DatasetGenerationError, pa.ArrowException, OSError) as error:
        cause = error.__cause__ or error
        reason = (str(cause).splitlines() or [type(cause).__name__])[0]
        where = files[0].parent if len(files) > 1 else files[0]
        raise UserError(f"{where}: cannot be read ({reason}); fetch or build it again") from None
    _require_images(pages.data.schema.field("image").type, files[0])
    return pages.cast_column("image", datasets.Image())


def _require_images(kind: pa.DataType, path: Path) -> None:
    """Refuse anything but encoded files: a path in their place would be opened, whatever it is."""
    content = kind
    if pa.types.is_struct(kind):
        content = kind.field("bytes").type if kind.get_field_index("bytes") >= 0 else kind
    empty = pa.types.is_null(content)  # the images are then told one by one
    if not (pa.types.is_binary(content) or pa.types.is_large_binary(content) or empty):
        raise UserError(f"{path}: expected encoded images in the column `image`, found {kind}")


def corpus_image_faults(pages: datasets.Dataset, *, decode: bool = False) -> list[str]:
    """Return a line for each fault that page images have, with the pages that have it."""
    raw = pages.cast_column("image", datasets.Image(decode=False)).select_columns(["id", "image"])
    by_fault: dict[str, list[str]] = {}
    for row in raw:
        image = row["image"]
        # A path alone is none of the dataset's files: it is never followed.
        fault = image_fault(image["bytes"] if isinstance(image, dict) else None, decode=decode)
        if fault:
            by_fault.setdefault(fault, []).append(row["id"])
    return [
        f"corpus: the image of {schema.some(ids)} {fault}; fetch or build it again"
        for fault, ids in sorted(by_fault.items())
    ]


def raise_faults(folder: Path, faults: Sequence[str]) -> None:
    """Raise a `UserError` that names all faults, if there are any."""
    if faults:
        raise UserError("\n".join([f"{folder}: {len(faults)} fault(s)", *map(str, faults)]))
