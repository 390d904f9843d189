"""Small made-up sources in ViDoRe v3's schema, and folders of them."""

import io
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

LANGUAGES = ("english", "french", "german", "italian", "portuguese", "spanish")
WORDS = [f"{a}{b}" for a in ("bo", "ka", "li", "mu", "ne", "so") for b in ("rad", "tin", "vel")]


def image_bytes(seed: int, size: tuple[int, int] = (64, 48)) -> bytes:
    """Return a small PNG with blocks of random colours."""
    noise = np.random.default_rng(seed).bytes(8 * 6 * 3)
    picture = Image.frombytes("RGB", (8, 6), noise).resize(size, Image.Resampling.NEAREST)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def make_rows(
    seed: int,
    *,
    n_pages: int = 30,
    n_groups: int = 12,
    languages=LANGUAGES,
    formats=("question", "question", "keyword", "instruction"),
    words_a_page: int = 40,
):
    """Return the rows of corpus, queries and qrels, as lists of dicts, numbered like ViDoRe v3."""
    rng = Random(seed)
    corpus: list[dict[str, Any]] = [
        {
            "corpus_id": i,
            "image": {"bytes": image_bytes(1000 * seed + i), "path": None},
            "doc_id": f"doc{i // 10}",
            "markdown": " ".join(
                f"{rng.choice(WORDS)}{rng.randrange(50)}" for _ in range(words_a_page)
            ),
            "page_number_in_doc": i % 10,
        }
        for i in range(n_pages)
    ]
    groups = [
        (
            formats[g % len(formats)],
            {
                page: rng.choice((1, 2))
                for page in rng.sample(range(n_pages), rng.choice((1, 2, 3)))
            },
            corpus[rng.randrange(n_pages)]["markdown"].split()[:4],
        )
        for g in range(n_groups)
    ]
    queries, qrels = [], []
    for block, language in enumerate(languages):
        for g, (form, grades, words) in enumerate(groups):
            query_id = block * n_groups + g
            text = " ".join([*words, language, str(g)])
            queries.append(
                {"query_id": query_id, "query": text, "language": language, "query_format": form}
            )
            qrels += [
                {"query_id": query_id, "corpus_id": page, "score": grade}
                for page, grade in grades.items()
            ]
    return {"corpus": corpus, "queries": queries, "qrels": qrels}


def write_source(folder: Path, rows, *, row_group_size: int = 7) -> Path:
    """Write the rows of each table to a folder."""
    for part, content in rows.items():
        (folder / part).mkdir(parents=True, exist_ok=True)
        path = folder / part / "test-00000-of-00001.parquet"
        pq.write_table(pa.Table.from_pylist(content), path, row_group_size=row_group_size)
    return folder


def shuffled(rows, seed: int):
    """Return the same rows in another order."""
    rng = Random(seed)
    return {part: rng.sample(content, len(content)) for part, content in rows.items()}
