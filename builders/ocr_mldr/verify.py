"""Tell whether a folder is what a manifest says, and which tools here are not the manifest's."""

import importlib.metadata
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builders.ocr_mldr.card import python_version
from builders.ocr_mldr.models import has_model
from builders.ocr_mldr.recipes import FONT_FOLDER
from builders.ocr_mldr.shards import drawing_versions
from mteb_nano.errors import UserError
from mteb_nano.manifest import FILE_NAME, read_manifest, sha256_of, verify_files


def verify(path: Path, folder: Path | None = None) -> tuple[list[str], list[str]]:
    """Return the faults of a folder, and the tools of this machine that are not the manifest's.

    Args:
        path: A manifest, or the folder that has one.
        folder: What to check; by default the manifest's own folder.

    Raises:
        UserError: There is no manifest.
    """
    place = path.parent if path.name == FILE_NAME else path
    manifest = read_manifest(place)
    folder = folder or place
    if not folder.is_dir():
        raise UserError(f"{folder}: expected a dataset folder, there is none")
    return verify_files(folder, manifest=manifest), tool_differences(manifest.get("tools", {}))


def tool_differences(tools: Mapping[str, Any]) -> list[str]:
    """Return one line for each tool whose version here is not the manifest's."""
    here = {
        **drawing_versions(),
        "font_sha256": _font(tools.get("font_sha256")),
        "unicode": unicodedata.unidata_version,
        "python": python_version(),
        **{name: _version(name) for name in ("numpy", "sentencex", "rapidfuzz", "pyarrow")},
    }
    then = {**tools, "tesserocr": tools.get("ocr", {}).get("tesserocr")}
    here["tesserocr"] = _version("tesserocr") if then["tesserocr"] else None
    return [
        f"{name}: {value} here, {then.get(name)} in the manifest"
        for name, value in here.items()
        if value != then.get(name)
    ] + [
        f"{code}.traineddata: no file with the manifest's checksum ({model['sha256']}) here"
        for code, model in tools.get("ocr", {}).get("models", {}).items()
        if not has_model(code, model["set"], model["sha256"])
    ]


def _font(wanted: object) -> object:
    """Return the checksum that is wanted, if a font that comes with the package has it."""
    ours = [sha256_of(path) for path in sorted(FONT_FOLDER.glob("*.ttf"))]
    return wanted if wanted in ours else ours[0]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
