"""Recognised sentences -> documents and queries again, as parquet, with their error rates."""

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from builders.engine import shard_path
from builders.ocr_mldr.error_rate import character_error_rate, squeeze
from builders.ocr_mldr.plan import Kind, Plan
from builders.ocr_mldr.sentences import join_sentences
from mteb_nano.errors import UserError

CHARACTERS_AT_A_TIME = 500_000  # of a row group, so that memory is the same however many rows
SCHEMA = pa.schema(
    [
        ("_id", pa.string()),
        ("clean_text", pa.string()),
        ("ocr_text", pa.string()),
        ("cer", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Rates:
    """Error rates of the texts of one kind, language and setting; means over texts, fractions."""

    raw: float
    normalized: float  # whitespace squeezed on both sides
    n: int
    n_empty: int  # texts of which nothing was read
    n_empty_sentences: int  # sentences, as often as they occur, of which nothing was read

    def as_dict(self) -> dict[str, Any]:
        """Return the rates for the manifest, rounded to 1e-6."""
        return {
            "cer": round(self.raw, 6),
            "cer_whitespace_normalized": round(self.normalized, 6),
            "n": self.n,
            "empty_texts": self.n_empty,
            "empty_sentences": self.n_empty_sentences,
        }


class Recognized:
    """The texts read from the distinct sentences, by number, from the files of the shards."""

    def __init__(self, folder: Path, keys: Sequence[str], size: int) -> None:
        self._folder = folder
        self._keys = keys
        self._size = size
        # Sentences follow each other, so that few files are open to be read again.
        self._read = functools.lru_cache(maxsize=32)(self._read_shard)

    def text(self, number: int) -> str:
        """Return what was read from the image of a sentence."""
        shard, place = divmod(number, self._size)
        return self._read(shard)[place]

    def _read_shard(self, shard: int) -> list[str]:
        path = shard_path(self._folder, self._keys[shard])
        try:
            return json.loads(path.read_bytes())["texts"]
        except (OSError, ValueError, KeyError) as error:
            raise UserError(
                f"{path}: expected a finished shard ({error}): remove it and run again"
            ) from None


def write_texts(plan: Plan, kind: Kind, recognized: Recognized, path: Path) -> Rates:
    """Write the parquet file of a kind of texts and return their error rates."""
    raw = normalized = 0.0
    n = n_empty = n_empty_sentences = 0
    with RowWriter(path) as rows:
        for text in plan.texts(kind):
            sentences = [recognized.text(number) for number in text.sentences]
            noisy = join_sentences(sentences)
            rate = character_error_rate(text.clean, noisy)
            raw += rate
            normalized += character_error_rate(squeeze(text.clean), squeeze(noisy))
            n += 1
            n_empty += not noisy.strip()
            n_empty_sentences += sentences.count("")
            rows.add(text.id, text.clean, noisy, round(rate, 6))
    return Rates(raw / n, normalized / n, n, n_empty, n_empty_sentences)


class RowWriter:
    """Writes rows of `SCHEMA` to a parquet file, a row group whenever enough characters wait."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetWriter(path, SCHEMA, compression="zstd")
        self._empty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if error[0] is None and self._columns["_id"]:
                self._write()
        finally:
            self._file.close()

    def add(self, key: str, clean: str, noisy: str, rate: float) -> None:
        """Add a row."""
        for name, value in zip(SCHEMA.names, (key, clean, noisy, rate), strict=True):
            self._columns[name].append(value)
        self._n_characters += len(clean) + len(noisy)
        if self._n_characters >= CHARACTERS_AT_A_TIME:
            self._write()

    def _write(self) -> None:
        self._file.write_table(pa.table(self._columns, schema=SCHEMA))
        self._empty()

    def _empty(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
        self._n_characters = 0


def qrels_table(plan: Plan) -> pa.Table:
    """Return the relevance labels as a table."""
    return pa.table(
        {
            "query_id": pa.array([q.query for q in plan.qrels], pa.string()),
            "corpus_id": pa.array([q.document for q in plan.qrels], pa.string()),
            "score": pa.array([q.score for q in plan.qrels], pa.int64()),
        }
    )
