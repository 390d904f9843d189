"""Small made-up datasets in Hub layout, the same for the same arguments.

`pages` and `texts` write a dataset folder as the builders do. Retrieval over them is neither
perfect nor random: a query takes words from its page and from others. Two documents of each are
equal, so that scores tie. `page_rows`, `text_rows` and `write` are their halves, for tests that
change the rows between; `hub_cache` lays a folder out as the Hub's client caches it.
"""

import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from PIL import Image, ImageDraw

from builders.export import dataset_card, with_hub_features, write_dataset, write_parquet
from mteb_nano.catalog import NANO_VIDORE_V3, OCR_MLDR, PARTS

Rows = dict[str, list[dict[str, Any]]]  # config -> rows
FILE = "{config}/test-00000-of-00001.parquet"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
FORMATS = ("question", "keyword", "instruction")
_SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "po", "ri", "su", "ta", "vo")
_CYRILLIC = str.maketrans("abdefgilmnoprstuvc", "абдефгилмнопрстувс")
# Characters that Tesseract takes for each other, and how often here, by setting.
_CONFUSED = {"a": "o", "e": "c", "i": "l", "u": "v", "m": "rn"}
_NOISE = {"dpi120_font10": 0.3, "dpi130_font10": 0.15, "dpi300_font12": 0.05}


def pages(
    folder: Path,
    *,
    name: str = "PagesGenerated",
    sources: Sequence[str] = NANO_VIDORE_V3.sources,
    n_pages_per_source: int = 4,
    n_queries_per_source: int = 3,
    seed: int = 0,
    **overrides: Any,
) -> Path:
    """Write a page dataset and return its folder; `overrides` are fields of the manifest."""
    rows = page_rows(sources, n_pages_per_source, n_queries_per_source, seed=seed)
    return write(folder, rows, manifest={**page_manifest(rows, name=name), **overrides})


def texts(
    folder: Path,
    *,
    name: str = "TextsGenerated",
    languages: Sequence[str] = OCR_MLDR.languages,
    settings: Sequence[str] = OCR_MLDR.settings,
    n_documents: int = 12,
    n_queries: int = 6,
    seed: int = 0,
    **overrides: Any,
) -> Path:
    """Write an OCR dataset and return its folder; `overrides` are fields of the manifest."""
    rows = text_rows(languages, settings, n_documents, n_queries, seed=seed)
    manifest = text_manifest(rows, name=name, languages=languages, settings=settings)
    return write(folder, rows, manifest={**manifest, **overrides}, file="data/" + FILE)


def page_rows(
    sources: Sequence[str] = NANO_VIDORE_V3.sources,
    n_pages: int = 4,
    n_queries: int = 3,
    *,
    seed: int = 0,
) -> Rows:
    """Return the rows of corpus, queries and qrels; counts are for each source."""
    rng = Random(seed)
    vocabulary = _words(rng, 40)
    rows: Rows = {part: [] for part in PARTS}
    for source in sources:
        found = [_page(rng, source, number, vocabulary) for number in range(n_pages)]
        if n_pages > 2:  # two equal pages: their scores tie
            found[-1] = {**found[-1], **{k: found[-2][k] for k in ("markdown", "image")}}
        rows["corpus"] += found
        for number in range(n_queries):
            target = found[number % n_pages]
            words = rng.sample(target["markdown"].split(), 3) + rng.sample(vocabulary, 2)
            place = len(rows["queries"])  # languages and formats go round over all sources
            query = {
                "_id": _id(rng),
                "query": " ".join(words),
                "language": NANO_VIDORE_V3.query_languages[place % 6],
                "query_format": FORMATS[place % len(FORMATS)],
                "source_dataset": source,
                "source_query_id": str(number),
            }
            rows["queries"].append(query)
            grades = {found[(number + 1) % n_pages]["_id"]: 1, target["_id"]: 2}
            rows["qrels"] += [
                {"query_id": query["_id"], "corpus_id": page, "score": grade}
                for page, grade in grades.items()
            ]
    judged = {row["corpus_id"] for row in rows["qrels"]}
    for page in rows["corpus"]:
        page["is_judged"] = page["_id"] in judged
    return rows


def text_rows(
    languages: Sequence[str] = OCR_MLDR.languages,
    settings: Sequence[str] = OCR_MLDR.settings,
    n_documents: int = 12,
    n_queries: int = 6,
    *,
    seed: int = 0,
) -> Rows:
    """Return the rows of each `{lang}_{setting}_{part}`; clean texts are equal in all settings."""
    rows: Rows = {}
    for language in languages:
        rng = Random(f"{seed} {language}")
        words = _words(rng, 60)
        documents = [(_id(rng), rng.choices(words, k=30)) for _ in range(n_documents)]
        if n_documents > 2:
            documents[-1] = (documents[-1][0], documents[-2][1])  # their scores tie
        queries = [
            (_id(rng), rng.sample(documents[i % n_documents][1], 3) + rng.sample(words, 2))
            for i in range(n_queries)
        ]
        qrels = [
            {"query_id": query, "corpus_id": documents[i % n_documents][0], "score": 1}
            for i, (query, _) in enumerate(queries)
        ]
        for setting in settings:
            pair = f"{language}_{setting}"
            rows[f"{pair}_corpus"] = [_text(rng, i, text, pair) for i, text in documents]
            rows[f"{pair}_queries"] = [_text(rng, i, text, pair) for i, text in queries]
            rows[f"{pair}_qrels"] = [dict(row) for row in qrels]
    return rows


def page_manifest(rows: Rows, *, name: str = "PagesGenerated") -> dict[str, Any]:
    """Return the manifest that describes the rows of a page dataset."""
    sources = dict.fromkeys(row["source_dataset"] for row in rows["corpus"])
    counts = {part: len(rows[part]) for part in PARTS}
    counts["judged"] = len({row["corpus_id"] for row in rows["qrels"]})
    return {
        "name": name,
        "kind": "page-retrieval",
        "version": "1",
        "license": "cc0-1.0",
        "sources": [{"name": source} for source in sources],
        "query_languages": sorted({row["language"] for row in rows["queries"]}),
        "grades": sorted({row["score"] for row in rows["qrels"]}),
        "counts": counts,
    }


def text_manifest(
    rows: Rows, *, languages: Sequence[str], settings: Sequence[str], name: str = "TextsGenerated"
) -> dict[str, Any]:
    """Return the manifest that describes the rows of an OCR dataset."""
    counts = {
        f"{language}_{part}": len(rows[f"{language}_{settings[0]}_{part}"])
        for language in languages
        for part in ("corpus", "queries")
    }
    return {
        "name": name,
        "kind": "ocr-retrieval",
        "version": "1",
        "license": "cc0-1.0",
        "languages": list(languages),
        "settings": list(settings),
        "grades": [1],
        "counts": counts,
    }


def write(
    folder: Path,
    rows: Rows,
    *,
    manifest: Mapping[str, Any] | None,
    file: str = FILE,
    card: bool = True,
) -> Path:
    """Write rows as a dataset folder.

    Args:
        folder: The folder to make.
        rows: Config -> rows.
        manifest: Fields of the manifest but `files`; None: there is no manifest.
        file: Path of a config's file in the folder.
        card: Whether `README.md` has `configs:`, if there is no manifest.
    """
    paths = {config: file.format(config=config) for config in rows}
    tables = {paths[config]: table_of(found) for config, found in rows.items()}
    text = dataset_card(paths, "# Made up", license_id="cc0-1.0")
    if manifest is not None:
        return write_dataset(folder, manifest=manifest, tables=tables, card=text)
    for path, table in tables.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_parquet(table, folder / path)
    (folder / "README.md").write_text(text if card else "# Made up\n")
    return folder


def table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table; images as the Hub's `Image` feature."""
    table = pa.Table.from_pylist(list(rows))
    if "image" in table.column_names and pa.types.is_null(table.schema.field("image").type):
        image = pa.struct({"bytes": pa.binary(), "path": pa.string()})
        place = table.column_names.index("image")
        table = table.set_column(place, "image", pa.nulls(len(rows), image))
    return with_hub_features(table)


def with_number_ids(rows: Rows) -> Rows:
    """Return the rows with whole numbers for ids, the same number for the same id."""
    ids = sorted({row["_id"] for found in rows.values() for row in found if "_id" in row})
    number = {key: i for i, key in enumerate(ids)}
    columns = ("_id", "query_id", "corpus_id")
    return {
        config: [{k: number[v] if k in columns else v for k, v in row.items()} for row in found]
        for config, found in rows.items()
    }


def renamed(rows: Rows, names: Mapping[str, Mapping[str, str]]) -> Rows:
    """Return the rows with other column names: part -> column -> new name."""
    return {
        config: [
            {names.get(config.rsplit("_", 1)[-1], {}).get(k, k): v for k, v in row.items()}
            for row in found
        ]
        for config, found in rows.items()
    }


def hub_cache(
    cache: Path, folder: Path, repository: str, *, commit: str = COMMIT, branch: str = "main"
) -> Path:
    """Lay a folder out as the Hub's client does, and return the snapshot.

    Set `HF_HUB_CACHE` to `cache` before huggingface_hub is imported, or patch its constant.
    """
    root = cache / f"datasets--{repository.replace('/', '--')}"
    snapshot = root / "snapshots" / commit
    (root / "blobs").mkdir(parents=True, exist_ok=True)
    (root / "refs").mkdir(parents=True, exist_ok=True)
    (root / "refs" / branch).write_text(commit)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        content = path.read_bytes()
        blob = root / "blobs" / hashlib.sha256(content).hexdigest()
        blob.write_bytes(content)
        link = snapshot / path.relative_to(folder)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    return snapshot


def image_bytes(text: str, *, size: tuple[int, int] = (120, 90), kind: str = "PNG") -> bytes:
    """Return an encoded picture of a text."""
    picture = Image.new("RGB", size, "white")
    lines = "\n".join(text[i : i + 18] for i in range(0, len(text), 18))
    ImageDraw.Draw(picture).multiline_text((4, 2), lines, fill="black")
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return buffer.getvalue()


def _words(rng: Random, n: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found["".join(rng.choices(_SYLLABLES, k=3))] = None
    return list(found)


def _id(rng: Random) -> str:
    # Says nothing of source or relevance: trec_eval breaks ties by document id.
    return f"{rng.getrandbits(40):010x}"


def _page(rng: Random, source: str, number: int, vocabulary: Sequence[str]) -> dict[str, Any]:
    text = " ".join(rng.choices(vocabulary, k=14))
    return {
        "_id": _id(rng),
        "image": {"bytes": image_bytes(text), "path": None},
        "markdown": text,
        "source_dataset": source,
        "source_corpus_id": str(number),
    }


def _text(rng: Random, key: str, words: Sequence[str], pair: str) -> dict[str, Any]:
    language, setting = pair.split("_", 1)
    rate = _NOISE.get(setting, 0.1)
    clean = " ".join(words)
    read = "".join(_CONFUSED.get(c, c) if rng.random() < rate else c for c in clean)
    if language == "ru":
        clean, read = clean.translate(_CYRILLIC), read.translate(_CYRILLIC)
    return {"_id": key, "clean_text": clean, "ocr_text": read}
