"""The parquet tables of a source: checked for their columns, read a few images at a time."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mteb_nano.errors import UserError

PARTS = {
    "corpus": ("corpus_id", "image", "markdown"),
    "queries": ("query_id", "query", "language"),
    "qrels": ("query_id", "corpus_id", "score"),
}
_BATCH_ROWS = 32  # pages whose images are in memory together: about 30 MB
_BUFFER_BYTES = 1 << 20  # read a column piece by piece: one row group may hold gigabytes
_MAX_FAULTS = 20


def natural(row_id: str) -> tuple[int, str]:
    """Return the sort key of ids: numbers by value, everything else by length and letters."""
    return (len(row_id), row_id)


def batches(folder: Path, part: str, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table without images."""
    for path in sorted((folder / part).glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(columns=columns)


def read_group(path: Path, group: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one row group, a few at a time, so that few images are in memory."""
    with pq.ParquetFile(path, buffer_size=_BUFFER_BYTES) as file:
        yield from file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=columns)


def check_columns(name: str, folder: Path) -> None:
    """Raise unless every table is there with the columns that it must have."""
    faults = []
    for part, wanted in PARTS.items():
        paths = sorted((folder / part).glob("*.parquet"))
        if not paths:
            faults.append(f"no parquet file in {folder / part}")
        for path in paths:
            try:
                found = pq.read_schema(path).names
            except (OSError, pa.ArrowInvalid) as error:
                faults.append(f"{path}: cannot be read as parquet: {error}")
                continue
            missing = sorted(set(wanted) - set(found))
            if missing:
                faults.append(
                    f"{path}: wanted the columns {', '.join(wanted)}; missing "
                    f"{', '.join(missing)}; found {', '.join(found)}"
                )
    raise_faults(name, faults)


def raise_faults(name: str, faults: Sequence[str]) -> None:
    """Raise one error that lists the faults, if there are any."""
    if faults:
        more = [f"and {len(faults) - _MAX_FAULTS} more"] if len(faults) > _MAX_FAULTS else []
        listed = "\n  ".join([*faults[:_MAX_FAULTS], *more])
        raise UserError(f"{name}: is not a source in ViDoRe v3's schema:\n  {listed}")


def id_faults(part: str, column: str, ids: Sequence[str]) -> list[str]:
    """Return a fault for each id that is missing or comes twice."""
    seen = Counter(ids)
    twice = sorted((row_id for row_id, n in seen.items() if n > 1), key=natural)
    faults = [f"{part}: {column} {row_id} comes more than once" for row_id in twice]
    if "None" in seen or "" in seen:
        faults.append(f"{part}: a row without {column}")
    return faults
