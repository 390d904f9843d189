"""Finding JSON files and reading them safely, whatever they hold."""

import json
import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mteb_nano.errors import UserError

# Result files of the 60 subsets with per-query scores take about 3 MB.
_MAX_BYTES = 100_000_000
_SIDE_FILES = ("model_meta.json", "manifest.json")


def find_files(paths: Iterable[Path], problems: list[str]) -> Iterator[tuple[Path, bool]]:
    """Yield each JSON file once, in path order, and whether it was named by the user.

    Links to folders inside a given folder are not followed, so that loops cannot trap the walk.

    Raises:
        UserError: A path does not exist.
    """
    seen = set()
    for path in paths:
        if not path.exists():
            raise UserError(f"{path}: no such file or folder")
        for file in [path] if path.is_file() else _walk(path, problems):
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                yield file, path.is_file()


def _walk(folder: Path, problems: list[str]) -> Iterator[Path]:
    def told(error: OSError) -> None:
        problems.append(f"{error.filename}: cannot be read: {error.strerror}")

    for root, folders, files in os.walk(folder, onerror=told):
        # A repository inside is someone else's: mteb clones the results of all models to `remote`.
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not Path(root, name, ".git").exists()
        )
        for name in sorted(files):
            if name.endswith(".json") and name not in _SIDE_FILES:
                yield Path(root, name)


def load_json(path: Path) -> Any:
    """Return a file's JSON; NaN literals become NaN.

    Raises:
        UserError: It cannot be read, or is no JSON, or too large or deep to be a result.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UserError(f"{path}: larger than {_MAX_BYTES // 1_000_000} MB, so no result file")
        text = path.read_text(encoding="utf-8")
        data = json.loads(text)
        return _without_half_characters(data) if "\\ud" in text.lower() else data
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text, so no result file") from None
    except RecursionError:
        raise UserError(f"{path}: nested too deeply, so no result file") from None
    except ValueError as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path}: broken or cut-off JSON ({error}); run the task again") from None


def _without_half_characters(data: Any) -> Any:
    r"""Replace lone surrogates: JSON's `\ud800` is legal, but no UTF-8 file can hold it."""
    text = json.dumps(data, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))


def printable(text: str) -> str:
    """Return a name without characters that would break a line or drive a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text).strip()


def as_number(value: object) -> float | None:
    """Return a JSON number as a float, None for anything else (NaN and infinities included)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
