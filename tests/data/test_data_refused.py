"""Data that cannot be used are refused at load, all faults at once, each in a line."""

import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.export import write_parquet
from mteb_nano import catalog, load, manifest
from mteb_nano.errors import UserError
from tests import generate
from tests.data.conftest import TWO_SOURCES


def row_of(folder):
    return catalog.from_manifest(manifest.read_manifest(folder), folder)


def faults_at_load(folder, mode="image+markdown"):
    """Return the lines of the error that loading a folder raises."""
    row = row_of(folder)
    options = (mode,) if row.kind == "page-retrieval" else ()
    read_all = load.load_pages if options else load.load_ocr
    with pytest.raises(UserError) as caught:
        read_all(row, *options, row.subsets)
    return str(caught.value).splitlines()


def test_all_faults_of_a_page_dataset_are_told_at_once(tmp_path):
    """Tables, images and hashes: one error names all of it."""
    rows = generate.page_rows(TWO_SOURCES)
    declared = generate.page_manifest(rows)
    declared["counts"]["corpus"] = 99
    picture = rows["corpus"][0]["image"]["bytes"]
    rows["corpus"][0]["image"] = {"bytes": picture[: len(picture) // 2], "path": None}
    rows["corpus"][1]["image"] = {"bytes": None, "path": "/etc/passwd"}
    rows["corpus"][2]["image"] = None
    rows["corpus"][3]["markdown"] = None
    rows["qrels"][0]["score"] = 5
    rows["queries"][1]["query"] = ""
    folder = generate.write(tmp_path / "d", rows, manifest=declared)
    (folder / "qrels/test-00000-of-00001.parquet").touch()
    lines = faults_at_load(folder)
    told = "\n".join(lines)
    assert lines[0] == f"{folder}: {len(lines) - 1} fault(s)"
    for words in (
        "cannot be decoded",
        "is empty",
        "rows lack `text`",
        "grade other than 1, 2: 5",
        "blank `text`",
        "corpus: 8, the manifest says 99",
    ):
        assert words in told, words
    assert min(page["_id"] for page in rows["corpus"][1:3]) in told


def test_missing_folders_of_languages_and_settings_are_all_named(texts):
    """Two lost folders and a lost column are three lines."""
    shutil.rmtree(texts / "data/de_dpi120_font10_queries")
    shutil.rmtree(texts / "data/ru_dpi300_font12_qrels")
    path = texts / "data/ru_dpi120_font10_corpus/test-00000-of-00001.parquet"
    pq.write_table(pq.read_table(path).drop_columns("ocr_text"), path)
    told = "\n".join(faults_at_load(texts))
    assert "de_dpi120_font10_queries: expected" in told
    assert "ru_dpi300_font12_qrels: expected" in told
    assert "ru_dpi120_font10_corpus" in told
    assert "expected the columns `ocr_text`" in told


def test_a_changed_file_is_refused_at_load(texts):
    """The result would record the manifest's revision, which is not what was read."""
    path = texts / "data/ru_dpi120_font10_corpus/test-00000-of-00001.parquet"
    rows = pq.read_table(path).to_pylist()
    rows[0]["ocr_text"] = "changed"
    write_parquet(generate.table_of(rows), path)
    assert any("ru_dpi120" in line and "manifest" in line for line in faults_at_load(texts))


def test_a_corrupt_corpus_is_one_line(pages):
    """Damage inside of the image column shows as a line with the file's name."""
    path = pages / "corpus/test-00000-of-00001.parquet"
    content = bytearray(path.read_bytes())
    content[200:3000] = b"\xff" * 2800
    path.write_bytes(content)
    for mode in ("image", "markdown"):
        lines = faults_at_load(pages, mode)
        assert "cannot be read" in lines[-1] or "sha256" in lines[-1]
        assert str(path) in "\n".join(lines) or "corpus/test-00000" in "\n".join(lines)


def with_image_column(folder, value):
    """Return a page dataset in whose image column stands something else."""
    rows = generate.page_rows(TWO_SOURCES)
    row = catalog.from_manifest(generate.page_manifest(rows), folder)
    generate.write(folder, rows, manifest=None)
    corpus = [{**page, "image": value} for page in rows["corpus"]]
    pq.write_table(pa.Table.from_pylist(corpus), folder / generate.FILE.format(config="corpus"))
    return row


@pytest.mark.parametrize(
    "value",
    [
        "/etc/hostname",
        "https://example.org/page.png",
        5,
        ["a"],
        [[0, 1]],
        {"path": "/etc/hostname"},
    ],
)
def test_an_image_column_without_encoded_images_is_refused(tmp_path, value):
    """The library would open paths and addresses, and make pictures of numbers."""
    row = with_image_column(tmp_path / "d", value)
    with pytest.raises(UserError, match="expected encoded images in the column `image`, found"):
        load.load_pages(row, "image", ["hr"])


def test_a_path_beside_missing_bytes_is_never_followed(tmp_path):
    """The Hub's struct of bytes and path may name a local file: the page counts as empty."""
    row = with_image_column(tmp_path / "d", {"bytes": None, "path": "/etc/hostname"})
    with pytest.raises(UserError, match=r"corpus: the image of .* and 5 more is empty"):
        load.load_pages(row, "image", ["hr"])


def test_an_image_column_of_plain_bytes_is_read(tmp_path):
    """Without the Hub's struct, a binary column holds the encoded files themselves."""
    row = with_image_column(tmp_path / "d", generate.image_bytes("one"))
    corpus = load.load_pages(row, "image", ["hr"])["hr"].corpus
    assert corpus[0]["image"].size == (120, 90)


def test_data_of_the_other_kind_are_refused(pages, monkeypatch):
    """Pages in the place of OCRMLDR: one line says what was needed."""
    monkeypatch.setenv(catalog.OCR_MLDR.variable, str(pages))
    with pytest.raises(UserError, match="holds page-retrieval data, OCRMLDR needs ocr-retrieval"):
        load.load_ocr(catalog.OCR_MLDR, catalog.OCR_MLDR.subsets)


def test_a_folder_that_claims_the_published_name_is_held_to_its_counts(tmp_path):
    """A truncated copy that says it is OCRMLDR is not evaluated as OCRMLDR."""
    folder = generate.texts(tmp_path / "t", name="OCRMLDR")
    told = "\n".join(faults_at_load(folder))
    assert "de_corpus: 12, the published dataset has 2,000" in told
    assert "en_queries: 6, the published dataset has about 800" in told


@pytest.mark.parametrize("mode", ["markdown", "image+markdown"])
def test_markdown_that_is_not_utf8_is_one_line(tmp_path, mode):
    """Parquet lets text columns hold any bytes; both ways of reading say so."""
    rows = generate.page_rows(TWO_SOURCES)
    folder = generate.write(tmp_path / "d", rows, manifest=None)
    row = catalog.from_manifest(generate.page_manifest(rows), folder)
    path = folder / generate.FILE.format(config="corpus")
    table = pq.read_table(path)
    raw = pa.array([b"\xff\xfe"] * len(table))
    text = pa.Array.from_buffers(pa.string(), len(table), raw.buffers())
    index = table.column_names.index("markdown")
    pq.write_table(table.set_column(index, "markdown", text), path)
    with pytest.raises(UserError) as caught:
        load.load_pages(row, mode, ["hr"])
    told = str(caught.value).splitlines()
    assert len(told) == 2
    assert str(folder / "corpus") in told[1]
    assert "UTF" in told[1].upper() or "utf" in told[1]


def test_a_pipe_among_the_files_is_not_waited_for(texts):
    """Opening a named pipe would hang for ever; it is no file of the dataset."""
    (texts / "README.md").unlink()  # it names files; without it, folders are looked through
    os.mkfifo(texts / "data/de_dpi120_font10_corpus/test-00001-of-00002.parquet")
    row = row_of(texts)
    assert load.load_ocr(row, row.subsets)


def test_scans_have_nothing_for_a_model_that_reads_text(tmp_path):
    """Without any text the markdown task stops before a model fails on it; the images are fine."""
    rows = generate.page_rows(TWO_SOURCES)
    for page in rows["corpus"]:
        page["markdown"] = " \n"
    folder = generate.write(tmp_path / "d", rows, manifest=generate.page_manifest(rows))
    row = row_of(folder)
    assert "no page has text" in faults_at_load(folder, "markdown")[1]
    assert load.load_pages(row, "image", row.subsets)
