"""Records -> a dataset folder in Hub layout: parquet, `README.md`, `manifest.json`.

The folder is written beside its place and renamed into it, so that a reader sees the old dataset,
or the new one, or none; never half of one.
"""

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from mteb_nano.errors import UserError
from mteb_nano.manifest import FILE_NAME, dump_manifest, file_entry

TableSource = pa.Table | Callable[[Path], None]
ROW_GROUP_ROWS = 256  # of a page corpus: about 100 MB of image bytes, read one group at a time


def write_dataset(
    out: Path,
    *,
    manifest: Mapping[str, Any],
    tables: Mapping[str, TableSource],
    card: str,
    extra_files: Mapping[str, bytes] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a dataset folder and return it.

    Args:
        out: The folder to make.
        manifest: All fields but `files`, which is computed here.
        tables: Relative path of each parquet file -> its table, or a function that writes it.
        card: Text of `README.md`; see `dataset_card`.
        extra_files: Relative path -> content of further files (licences).
        overwrite: Whether a dataset folder that is already there may be replaced.

    Raises:
        UserError: `out` exists and may not be replaced, or cannot be written.
    """
    with replacing_folder(out, overwrite=overwrite) as part:
        for name, source in sorted(tables.items()):
            path = part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(source):
                source(path)
            else:
                write_parquet(source, path)
        for name, content in {"README.md": card.encode(), **(extra_files or {})}.items():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).write_bytes(content)
        written = sorted(p for p in part.rglob("*") if p.is_file())
        files = {p.relative_to(part).as_posix(): file_entry(p) for p in written}
        (part / FILE_NAME).write_bytes(dump_manifest({**manifest, "files": files}))
    return out


@contextlib.contextmanager
def replacing_folder(out: Path, *, overwrite: bool = False) -> Generator[Path]:
    """Give a new folder beside `out` and rename it to `out` when the block ends without error."""
    if not out.name:
        raise UserError(f"{out}: give the folder to make a name, such as --out mine")
    part = out.with_name(f".{out.name}.partial")
    old = out.with_name(f".{out.name}.old")
    if old.exists() and not out.exists():
        old.rename(out)  # killed between the two renames below: what was there comes back
    _check_replaceable(out, overwrite=overwrite)
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        yield part
        if out.exists():
            out.rename(old)
            part.rename(out)
            shutil.rmtree(old)
        else:
            part.rename(out)
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _check_replaceable(out: Path, *, overwrite: bool) -> None:
    if not out.exists():
        return
    if out.is_dir() and not any(out.iterdir()):
        return
    if not overwrite:
        raise UserError(f"{out}: exists already; name another folder, or remove it first")
    if not (out / FILE_NAME).is_file():
        # Never remove a folder that may hold somebody's other files.
        raise UserError(f"{out}: is not a dataset folder (no {FILE_NAME}), so it is not replaced")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file beside its place, flush it to the disk, and rename it.

    Raises:
        UserError: It cannot be written.
    """
    part = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        free = "free some space" if error.errno == errno.ENOSPC else "mend that"
        raise UserError(
            f"{path}: cannot be written: {error.strerror}; {free} and run the same command again, "
            "what is finished is kept"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def write_parquet(table: pa.Table, path: Path, *, row_group_rows: int | None = None) -> None:
    """Write a parquet file whose bytes depend on the rows and pyarrow's version alone."""
    pq.write_table(
        table.combine_chunks(),  # how the rows were chunked in memory must not show in the bytes
        path,
        compression="zstd",
        row_group_size=row_group_rows
        or (ROW_GROUP_ROWS if "image" in table.column_names else None),
        store_schema=True,
    )


def with_hub_features(table: pa.Table, images: Sequence[str] = ("image",)) -> pa.Table:
    """Return the table with the metadata by which `datasets` knows its image columns."""
    features: dict[str, Any] = {}
    for item in table.schema:
        if item.name in images:
            features[item.name] = {"_type": "Image"}
        else:
            features[item.name] = _feature(item.type)
    info = json.dumps({"info": {"features": features}})
    return table.replace_schema_metadata({"huggingface": info})


def _feature(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "List"}
    if pa.types.is_struct(kind):
        return {item.name: _feature(item.type) for item in kind}
    return {"dtype": "float64" if kind == pa.float64() else str(kind), "_type": "Value"}


def dataset_card(
    configs: Mapping[str, str], text: str, *, license_id: str, languages: Sequence[str] = ()
) -> str:
    """Return a `README.md` with the Hub's front matter.

    Args:
        configs: Name of each config -> glob of its parquet files, split `test`.
        text: The card itself, markdown.
        license_id: Identifier of a licence as the Hub knows it (`other` for a mixture).
        languages: Two-letter codes.
    """
    head: dict[str, Any] = {
        "license": license_id,
        "language": sorted(languages),
        "configs": [
            {"config_name": name, "data_files": [{"split": "test", "path": path}]}
            for name, path in configs.items()
        ],
    }
    front = yaml.safe_dump({k: v for k, v in head.items() if v}, sort_keys=False)
    return f"---\n{front}---\n\n{text.strip()}\n"
