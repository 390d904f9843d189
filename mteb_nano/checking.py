"""The full check of a dataset folder: what loading checks, and every pixel of every page."""

from pathlib import Path

from mteb_nano import catalog, manifest, read, schema, tables
from mteb_nano.catalog import Dataset
from mteb_nano.errors import UserError


def faults_of(folder: Path) -> list[str]:
    """Return one line for each fault of a dataset folder; an empty list when it is sound.

    Raises:
        UserError: It is no dataset folder at all.
    """
    dataset = claimed(folder)
    faults = read.manifest_faults(folder)
    try:
        if dataset.kind == "page-retrieval":
            return faults + _page_faults(folder, dataset)
        pairs = dict.fromkeys(subset.rsplit("_", 1)[0] for subset in dataset.subsets)
        return faults + read.read_ocr(folder, dataset, pairs)[1]
    except UserError as error:
        return faults + str(error).splitlines()


def claimed(folder: Path) -> Dataset:
    """Return what the folder says it is; without a manifest, the published dataset of its shape.

    Raises:
        UserError: It says nothing that can be understood, or cannot be read.
    """
    try:
        if not folder.is_dir():
            raise UserError(f"{folder}: expected a dataset folder, found nothing there")
        content = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise UserError(f"{folder}: cannot be read ({error.strerror})") from None
    if (folder / manifest.FILE_NAME).exists():
        return catalog.from_manifest(manifest.read_manifest(folder), folder)
    if any(tables.find_files(folder, part) for part in catalog.PARTS):
        return catalog.NANO_VIDORE_V3
    pairs = dict.fromkeys(subset.rsplit("_", 1)[0] for subset in catalog.OCR_MLDR.subsets)
    configs = [f"{pair}_{part}" for pair in pairs for part in catalog.PARTS]
    if any(tables.find_files(folder, config) for config in configs):
        return catalog.OCR_MLDR
    raise UserError(
        f"{folder}: expected a dataset folder, with {manifest.FILE_NAME}, or corpus/, queries/ and "
        "qrels/, or data/{lang}_{setting}_{corpus|queries|qrels}/ with parquet files; found "
        + (schema.some(content) or "nothing")
    )


def _page_faults(folder: Path, dataset: Dataset) -> list[str]:
    pages = read.read_pages(folder, "image+markdown")
    faults = schema.page_faults(pages.corpus, pages.queries, pages.qrels, dataset)
    return faults + read.corpus_image_faults(pages.documents, decode=True)
