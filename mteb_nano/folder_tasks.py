"""A dataset folder is a task: classes made from a manifest."""

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mteb_nano import catalog, locate
from mteb_nano.errors import UserError
from mteb_nano.manifest import read_manifest
from mteb_nano.nano_vidore_v3 import SUFFIXES, PageTask, page_metadata
from mteb_nano.ocr_mldr import OcrTask, ocr_metadata
from mteb_nano.task import NanoTask

_MODULE = "mteb.tasks"  # where the registry puts the classes, so that pickle finds them
VARIABLE = "MTEB_NANO_DATA"  # folders, separated as in PATH


def tasks_of(folder: Path) -> tuple[type[NanoTask], ...]:
    """Return the tasks that read a dataset folder: three for pages, one for OCR texts.

    Raises:
        UserError: It has no usable manifest.
    """
    manifest = read_manifest(folder)
    row = catalog.from_manifest(manifest, folder)
    fields = _fields(manifest, folder)
    if row.kind == "ocr-retrieval":
        body = {"row": row, "metadata": ocr_metadata(row, **fields), "__module__": _MODULE}
        return (type(row.name, (OcrTask,), body),)
    return tuple(
        type(
            row.name + suffix,
            (PageTask,),
            {
                "row": row,
                "mode": mode,
                "metadata": page_metadata(row, mode, **fields),
                "__module__": _MODULE,
            },
        )
        for mode, suffix in SUFFIXES.items()
    )


def sample_tasks() -> tuple[type[NanoTask], ...]:
    """Return the tasks over the embedded sample."""
    folders = sorted(path.parent for path in locate.SAMPLE.glob("*/manifest.json"))
    return tuple(task for folder in folders for task in tasks_of(folder))


def tasks_from_environment() -> tuple[type[NanoTask], ...]:
    """Return the tasks over the folders in `MTEB_NANO_DATA`; a folder at fault is warned about."""
    found: list[type[NanoTask]] = []
    for entry in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        try:
            found += tasks_of(Path(entry).expanduser().resolve())
        except UserError as error:
            warnings.warn(f"{VARIABLE}: {error}", RuntimeWarning, stacklevel=2)
    return tuple(found)


def _fields(manifest: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what mteb's metadata asks for and a manifest can tell."""
    return {
        "description": manifest.get("description")
        or f"Retrieval over the dataset folder {folder.name}, version {manifest.get('version')}.",
        "reference": manifest.get("reference"),
        "dialect": [],
        "bibtex_citation": manifest.get("bibtex_citation", ""),
        "is_public": True,
    }
