"""Datasets become the subsets that mteb evaluates: right, once, encoded, or not at all."""

import builtins
import dataclasses
import io
import os
import shutil
from collections import Counter

import pyarrow.parquet as pq
import pytest
from PIL import ImageFile

from builders.export import write_parquet
from mteb_nano import catalog, load, manifest, read
from tests import generate
from tests.data.conftest import TWO_SOURCES


def row_of(folder):
    return catalog.from_manifest(manifest.read_manifest(folder), folder)


def rows_in(folder, part):
    return pq.read_table(folder / part / "test-00000-of-00001.parquet").to_pylist()


def test_pages_come_as_written(pages):
    """Ids, images, texts, grades and groups of each subset are those in the files."""
    subsets = load.load_pages(row_of(pages), "image+markdown", TWO_SOURCES)
    corpus, queries = rows_in(pages, "corpus"), rows_in(pages, "queries")
    assert list(subsets) == list(TWO_SOURCES)
    for source, subset in subsets.items():
        assert subset.corpus["id"][:] == [row["_id"] for row in corpus]
        assert subset.corpus["text"][:] == [row["markdown"] for row in corpus]
        mine = {row["_id"]: row for row in queries if row["source_dataset"] == source}
        assert dict(zip(subset.queries["id"], subset.queries["text"], strict=True)) == {
            key: row["query"] for key, row in mine.items()
        }
        assert set(subset.qrels) == set(mine)
        assert all(sorted(grades.values()) == [1, 2] for grades in subset.qrels.values())
    (first,) = [q for q, row in subsets["hr"].groups.items() if row[0] == "lang_eng"]
    assert subsets["hr"].groups[first] == ("lang_eng", "format_question")
    width, height = subsets["hr"].corpus[0]["image"].size
    assert (width, height) == (120, 90)


@pytest.mark.parametrize("mode", ["image", "markdown", "image+markdown"])
def test_a_mode_has_its_columns_alone(pages, mode):
    """Mteb fuses every column that it finds, so no other may be there."""
    subset = load.load_pages(row_of(pages), mode, ["hr"])["hr"]
    assert subset.corpus.column_names == ["id", *read.PAGE_COLUMNS[mode]]


def test_whole_numbers_as_ids_come_out_as_text(tmp_path):
    """ViDoRe v3 numbers its pages; pytrec_eval takes text alone."""
    rows = generate.with_number_ids(generate.page_rows(TWO_SOURCES))
    folder = generate.write(tmp_path / "n", rows, manifest=generate.page_manifest(rows))
    subset = load.load_pages(row_of(folder), "markdown", ["hr"])["hr"]
    assert subset.corpus["id"][:] == [str(row["_id"]) for row in rows["corpus"]]
    assert all(isinstance(d, str) for grades in subset.qrels.values() for d in grades)


@pytest.mark.parametrize("spelling", ["vidore/vidore_v3_{}", "vidore_v3_{}", "{}"])
def test_source_names_are_understood_in_the_data(tmp_path, spelling):
    """The subsets keep their short names, however the rows spell the source."""
    rows = generate.page_rows(TWO_SOURCES)
    declared = generate.page_manifest(rows)
    for row in (*rows["corpus"], *rows["queries"]):
        row["source_dataset"] = spelling.format(row["source_dataset"])
    folder = generate.write(tmp_path / "s", rows, manifest=declared)
    subsets = load.load_pages(row_of(folder), "markdown", TWO_SOURCES)
    assert [len(subset.qrels) for subset in subsets.values()] == [3, 3]


def test_other_spellings_and_layouts_load_alike(tmp_path):
    """Renamed columns, files below data/ and a card without configs change nothing."""
    rows = generate.page_rows(TWO_SOURCES)
    names = {
        "corpus": {"_id": "corpus-id", "markdown": "text"},
        "queries": {"_id": "id", "query": "text"},
        "qrels": {"query_id": "query-id", "corpus_id": "corpus-id"},
    }
    usual = generate.write(tmp_path / "usual", rows, manifest=generate.page_manifest(rows))
    other = generate.write(
        tmp_path / "other",
        generate.renamed(rows, names),
        manifest=None,
        file="data/{config}-00000-of-00001.parquet",
        card=False,
    )
    row = row_of(usual)
    one = load.load_pages(row, "image+markdown", TWO_SOURCES)
    two = load.load_pages(dataclasses.replace(row, folder=other), "image+markdown", TWO_SOURCES)
    for source in TWO_SOURCES:
        assert one[source].qrels == two[source].qrels
        assert one[source].corpus["text"][:] == two[source].corpus["text"][:]


def test_formats_and_languages_may_be_left_out(tmp_path):
    """Data without these columns have no groups, and load."""
    rows = generate.page_rows(TWO_SOURCES)
    declared = generate.page_manifest(rows)
    for row in rows["queries"]:
        del row["language"], row["query_format"]
    folder = generate.write(tmp_path / "d", rows, manifest=declared)
    subset = load.load_pages(row_of(folder), "markdown", ["hr"])["hr"]
    assert set(subset.groups.values()) == {()}


def test_sixty_subsets_have_twenty_corpora(tmp_path):
    """5 languages x (1 clean text, which 3 settings share, + 3 read ones) are 20, by content."""
    row = row_of(generate.texts(tmp_path / "t"))
    subsets = load.load_ocr(row, row.subsets)
    assert len(subsets) == 60
    assert len({subset.corpus_key for subset in subsets.values()}) == 20
    assert len({id(subset.corpus) for subset in subsets.values()}) == 20
    clean = [s for name, s in subsets.items() if name.startswith("de_") and "_clean" in name]
    assert len(clean) == 6
    assert len({subset.corpus_key for subset in clean}) == 1


def test_equal_texts_under_other_ids_are_other_corpora():
    """Rankings name ids: a corpus is its ids and its texts, and where one ends the next begins."""
    keys = {
        load.content_key(ids, texts)
        for ids, texts in [
            (["1", "2"], ["a", "b"]),
            (["2", "1"], ["a", "b"]),
            (["1", "2"], ["ab", ""]),
            (["1", "2a"], ["a", "b"]),
        ]
    }
    assert len(keys) == 4
    assert load.content_key([1], ["a"]) == load.content_key(["1"], ["a"])


def test_modes_read_corpus2query(texts):
    """clean2ocr is a clean corpus asked with noisy queries, ocr2clean the other way round."""
    row = row_of(texts)
    subsets = load.load_ocr(row, row.subsets)
    files = {
        part: rows_in(texts / "data", f"de_dpi120_font10_{part}") for part in ("corpus", "queries")
    }
    for mode, (corpus, queries) in {
        "clean2ocr": ("clean_text", "ocr_text"),
        "ocr2clean": ("ocr_text", "clean_text"),
    }.items():
        subset = subsets[f"de_dpi120_font10_{mode}"]
        assert subset.corpus["text"][:] == [r[corpus] for r in files["corpus"]]
        assert subset.queries["text"][:] == [r[queries] for r in files["queries"]]


@pytest.fixture
def opened(monkeypatch):
    """Return path -> how often it was opened or mapped: by Python, and by Arrow's own files."""
    counts = Counter()
    python_open, read_files, parquet_file = builtins.open, pq.read_schema, pq.ParquetFile.__init__

    def counting_open(file, *args, **kwargs):
        counts[os.fspath(file) if not isinstance(file, int) else file] += 1
        return python_open(file, *args, **kwargs)

    def counting_schema(where, *args, **kwargs):
        counts[os.fspath(where)] += 1
        return read_files(where, *args, **kwargs)

    def counting_parquet(self, source, *args, **kwargs):
        if isinstance(source, str | os.PathLike):
            counts[os.fspath(source)] += 1
        return parquet_file(self, source, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", counting_open)
    monkeypatch.setattr(io, "open", counting_open)
    monkeypatch.setattr(pq, "read_schema", counting_schema)
    monkeypatch.setattr(pq.ParquetFile, "__init__", counting_parquet)
    return counts


def test_each_text_file_is_read_once_and_hashed_once(texts, opened):
    """16 subsets of 12 files: two openings a file, not two for each subset that uses it."""
    row = row_of(texts)
    opened.clear()
    load.load_ocr(row, row.subsets)
    data = {path: n for path, n in opened.items() if str(path).endswith(".parquet")}
    assert len(row.subsets) == 16
    assert len(data) == 12
    assert set(data.values()) == {2}


def test_a_page_corpus_is_hashed_once_for_all_tasks(pages, monkeypatch):
    """Three tasks read one corpus of gigabytes: its hash is computed once, and again if changed."""
    hashed = []
    real = manifest.sha256_of
    monkeypatch.setattr(manifest, "sha256_of", lambda path: hashed.append(path.name) or real(path))
    row = row_of(pages)
    for mode in read.PAGE_COLUMNS:
        load.load_pages(row, mode, ["hr"])
    assert len(hashed) == 3  # corpus, queries, qrels
    path = pages / generate.FILE.format(config="corpus")
    stat = path.stat()
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert any("sha256 is not the manifest's" in line for line in manifest.verify_files(pages))


def test_loading_one_language_touches_no_other(texts, opened):
    """A run of one language neither reads nor hashes the others, which may not be downloaded."""
    row = row_of(texts)
    shutil.rmtree(texts / "data/ru_dpi120_font10_corpus")
    opened.clear()
    subsets = load.load_ocr(row, [name for name in row.subsets if name.startswith("de_")])
    assert len(subsets) == 8
    assert not [path for path in opened if "/ru_" in str(path)]


def test_page_images_stay_encoded_and_on_disk(pages, monkeypatch):
    """4,000 pages decoded are 100 GB: nothing is decoded, and the column is memory-mapped."""
    decoded = []
    real = ImageFile.ImageFile.load
    monkeypatch.setattr(
        ImageFile.ImageFile, "load", lambda self: decoded.append(self) or real(self)
    )
    corpus = load.load_pages(row_of(pages), "image", ["hr"])["hr"].corpus
    assert decoded == []
    assert corpus.cache_files
    _ = corpus[0]["image"]
    assert decoded  # so decoding would have been seen


def test_a_changed_corpus_with_an_old_time_stamp_is_read_anew(tmp_path):
    """`cp -p` and `tar` keep times: the library's cached copy must not pass for the new file."""
    rows = generate.page_rows(TWO_SOURCES)
    path = generate.FILE.format(config="corpus")
    folder = generate.write(tmp_path / "d", rows, manifest=None)
    row = catalog.from_manifest(generate.page_manifest(rows), folder)
    stat = (folder / path).stat()
    load.load_pages(row, "image+markdown", ["hr"])
    rows["corpus"][0]["markdown"] = rows["corpus"][0]["markdown"][::-1]
    write_parquet(generate.table_of(rows["corpus"]), folder / path)
    os.utime(folder / path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    corpus = load.load_pages(row, "image+markdown", ["hr"])["hr"].corpus
    assert corpus["text"][0] == rows["corpus"][0]["markdown"]


def test_generated_data_stand_in_for_the_published(tmp_path, monkeypatch):
    """A folder of another name with its own counts takes the place of each published dataset."""
    monkeypatch.setenv(catalog.OCR_MLDR.variable, str(generate.texts(tmp_path / "t")))
    monkeypatch.setenv(catalog.NANO_VIDORE_V3.variable, str(generate.pages(tmp_path / "p")))
    assert len(load.load_ocr(catalog.OCR_MLDR, catalog.OCR_MLDR.subsets)) == 60
    found = load.load_pages(catalog.NANO_VIDORE_V3, "image", catalog.NANO_VIDORE_V3.sources)
    assert len(found) == 8
