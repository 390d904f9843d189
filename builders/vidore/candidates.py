"""Candidate lists: what a miner's scores become, and the file that keeps them."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from builders.export import write_bytes
from builders.vidore.sources import Source
from mteb_nano.errors import UserError

Candidates = dict[str, list[tuple[str, float]]]  # query id -> (page id, score), hardest first
_KEY = b"made_from"


def rank_candidates(
    source: Source,
    query_ids: Sequence[str],
    scores: npt.NDArray[np.floating],
    *,
    top_k: int,
    miner: str,
) -> Candidates:
    """Return the best-scored pages that are not judged relevant, for each query.

    Args:
        source: Gives the pages, in the order of the columns, and the positives.
        query_ids: The order of the rows.
        scores: (n_queries, n_pages), larger is closer; float64 keeps every miner's ties apart.
        top_k: How many to keep; fewer where the source has fewer.
        miner: For the message.

    Returns:
        Best first; equal scores in the order of the page ids.

    Raises:
        UserError: A score is not finite.
    """
    bad = np.argwhere(~np.isfinite(scores))
    if len(bad):
        row, column = bad[0]
        raise UserError(
            f"{miner}: {len(bad)} scores in {source.name} are not finite, first for query "
            f"{query_ids[row]} and page {source.page_ids[column]}; a ranking cannot be made of "
            "them: check the model, its precision and this page"
        )
    lists: Candidates = {}
    for query_id, row in zip(query_ids, scores, strict=True):
        positives = source.qrels[query_id]
        best_first = np.argsort(-row, kind="stable")
        kept = [column for column in best_first if source.page_ids[column] not in positives][:top_k]
        lists[query_id] = [(source.page_ids[column], float(row[column])) for column in kept]
    return lists


def save_candidates(path: Path, candidates: Candidates, made_from: Mapping[str, Any]) -> None:
    """Write the lists of one source, with what they were made from; atomic, with checksums."""
    rows = [
        {"query_id": query_id, "rank": rank, "corpus_id": page_id, "score": score}
        for query_id, pages in candidates.items()
        for rank, (page_id, score) in enumerate(pages, start=1)
    ]
    schema = pa.schema(
        [
            ("query_id", pa.string()),
            ("rank", pa.int32()),
            ("corpus_id", pa.string()),
            ("score", pa.float64()),
        ],
        metadata={_KEY: json.dumps(made_from, sort_keys=True)},
    )
    buffer = io.BytesIO()
    table = pa.Table.from_pylist(rows, schema)
    pq.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    write_bytes(path, buffer.getvalue())


def load_candidates(path: Path) -> tuple[Candidates, dict[str, Any]] | None:
    """Return the lists of a file and what they were made from; None if it is absent or broken."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        made_from = json.loads((table.schema.metadata or {})[_KEY])
    except (OSError, pa.ArrowInvalid, KeyError, ValueError):
        return None
    lists: Candidates = {query_id: [] for query_id in made_from["query_ids"]}
    for row in table.to_pylist():
        lists[row["query_id"]].append((row["corpus_id"], row["score"]))
    return lists, made_from
