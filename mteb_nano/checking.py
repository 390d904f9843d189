"""The full check of a dataset folder: what loading checks, and every pixel of every page."""

from pathlib import Path

from mteb_nano import catalog, manifest, read, schema, tables
from mteb_nano.catalog import Dataset
from mteb_nano.errors import UserError


def faults_of(folder: Path) -> list[str]:
    """Return one line for each fault of a dataset folder; an empty list when it is sound."""
    if not folder.is_dir():
        raise UserError(f"{folder}: expected a dataset folder, found nothing there")
    try:
        dataset = _claimed(folder)
        faults = read.manifest_faults(folder)
        if dataset.kind == "page-retrieval":
            return faults + _page_faults(folder, dataset)
        pairs = dict.fromkeys(subset.rsplit("_", 1)[0] for subset in dataset.subsets)
        return faults + read.read_ocr(folder, dataset, pairs)[1]
    except UserError as error:
        return str(error).splitlines()


def _claimed(folder: Path) -> Dataset:
    """Return what the folder says it is; without a manifest, the published dataset of its shape."""
    if (folder / manifest.FILE_NAME).is_file():
        return catalog.from_manifest(manifest.read_manifest(folder), folder)
    pages = tables.find_files(folder, "corpus")
    return catalog.NANO_VIDORE_V3 if pages else catalog.OCR_MLDR


def _page_faults(folder: Path, dataset: Dataset) -> list[str]:
    pages = read.read_pages(folder, "image+markdown")
    faults = schema.page_faults(pages.corpus, pages.queries, pages.qrels, dataset)
    return faults + read.corpus_image_faults(pages.documents, decode=True)
