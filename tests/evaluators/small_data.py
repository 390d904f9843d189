"""Dataset folders of a dozen documents, in the real layout."""

import io
import itertools

import datasets
import numpy as np
import pyarrow as pa
from PIL import Image

from builders.export import write_dataset

PAGES = {"kind": "page-retrieval", "license": "mit", "version": "1", "grades": [1, 2]}
TEXTS = {"kind": "ocr-retrieval", "license": "mit", "version": "1", "grades": [1]}
LANGUAGES = ("english", "french")
SOURCES = ("north", "south")
CARD = "---\nlicense: mit\n---\n"


def png(seed: int, size=(48, 40)) -> bytes:
    noise = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).save(out, "PNG")
    return out.getvalue()


def page_tables(n_pages: int = 12, n_queries: int = 4) -> dict[str, dict]:
    """Return the columns of a page dataset: pages p0.., n_queries of each source."""
    pages = [f"p{i}" for i in range(n_pages)]
    source_of = {page: SOURCES[i % 2] for i, page in enumerate(pages)}
    corpus = {
        "_id": pages,
        "image": [{"bytes": png(i), "path": None} for i in range(n_pages)],
        "markdown": [
            f"page {i} is about {['north', 'south', 'east', 'west'][i % 4]}" for i in range(n_pages)
        ],
        "source_dataset": [source_of[page] for page in pages],
        "source_corpus_id": [str(i) for i in range(n_pages)],
        "is_judged": [True] * n_pages,
    }
    asked = [f"{source}-q{i}" for source in SOURCES for i in range(n_queries)]
    queries = {
        "_id": asked,
        "query": [f"what is on page {i}" for i in range(len(asked))],
        "language": [LANGUAGES[i % 2] for i in range(len(asked))],
        "query_format": ["question"] * len(asked),
        "source_dataset": [q.split("-")[0] for q in asked],
        "source_query_id": [str(i) for i in range(len(asked))],
    }
    judged = [
        (query, page, 1 + (i + j) % 2)
        for i, query in enumerate(asked)
        for j, page in enumerate(p for p in pages if source_of[p] == query.split("-")[0])
        if j in (i % 4, (i + 1) % 4)
    ]
    qrels = {
        name: list(c)
        for name, c in zip(
            ("query_id", "corpus_id", "score"), zip(*judged, strict=True), strict=True
        )
    }
    return {"corpus": corpus, "queries": queries, "qrels": qrels}


def write_pages(out, tables=None, *, drop=(), **manifest):
    """Write a page dataset, without the columns in `drop`, given as (table, column)."""
    tables = tables or page_tables()
    for part, column in drop:
        del tables[part][column]
    fields = {
        "name": "SmallPages",
        **PAGES,
        "sources": [{"name": s} for s in SOURCES],
        "query_languages": list(LANGUAGES),
        "counts": {},
        **manifest,
    }

    def corpus(path):
        features = {"image": datasets.Image()} if "image" in tables["corpus"] else {}
        data = datasets.Dataset.from_dict(tables["corpus"])
        for name, feature in features.items():
            data = data.cast_column(name, feature)
        data.to_parquet(path)

    parts = {
        "corpus": corpus,
        "queries": pa.table(tables["queries"]),
        "qrels": pa.table(tables["qrels"]),
    }
    files = {f"{part}/test-00000-of-00001.parquet": table for part, table in parts.items()}
    return write_dataset(out, manifest=fields, tables=files, card=CARD)


def write_texts(out, *, languages=("de", "fr"), settings=("dpi120_font10", "dpi300_font12"), n=6):
    """Write an OCR dataset of n documents and 3 queries in each language."""
    fields = {
        "name": "SmallTexts",
        **TEXTS,
        "languages": list(languages),
        "settings": list(settings),
        "counts": {},
    }
    files = {}
    for lang, setting in itertools.product(languages, settings):
        noise = setting[3]
        clean = [f"{lang} document {i} about {['alpha', 'beta', 'gamma'][i % 3]}" for i in range(n)]
        asked = [f"{lang} query {['alpha', 'beta', 'gamma'][i]}" for i in range(3)]
        rows: dict[str, dict] = {
            "corpus": {"_id": [f"d{i}" for i in range(n)], "clean_text": clean},
            "queries": {"_id": [f"q{i}" for i in range(3)], "clean_text": asked},
        }
        for columns in rows.values():
            columns["ocr_text"] = [text.replace("a", noise) for text in columns["clean_text"]]
        rows["qrels"] = {
            "query_id": ["q0", "q1", "q2"],
            "corpus_id": ["d0", "d1", "d2"],
            "score": [1] * 3,
        }
        for part, columns in rows.items():
            files[f"data/{lang}_{setting}_{part}/test-00000-of-00001.parquet"] = pa.table(columns)
    return write_dataset(out, manifest=fields, tables=files, card=CARD)
