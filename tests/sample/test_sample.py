"""The sample that the package carries: what it holds, and that its script makes it again."""

import importlib.metadata
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from builders import sample
from mteb_nano import manifest
from mteb_nano.catalog import OCR_MLDR
from mteb_nano.checking import faults_of
from mteb_nano.load import content_key
from mteb_nano.locate import SAMPLE

SLICE = Path(__file__).parent / "slice"
GOLDEN = Path(__file__).parent / "golden.json"
PAGES = ("--queries-per-source", "linuxcnc_en=4,deb_reference_fr=3", "--pool-size", "16")
TEXTS = ("--langs", "de", "ru", "--settings", "120/10", "--documents", "4", "--queries", "3")
# What decides bytes: encoders, file writer, OCR engine.
TOOLS = ("pillow", "pyarrow", "tesserocr")


def test_sample_is_sound_and_small():
    """Both folders pass the full check, and stay below 20 MB with their licences inside."""
    total = 0
    for name in ("nano_vidore_v3", "ocr_mldr"):
        assert faults_of(SAMPLE / name) == []
        assert (SAMPLE / name / "LICENSE.md").read_text().count("GPL") >= 1
        total += sum(p.stat().st_size for p in (SAMPLE / name).rglob("*") if p.is_file())
    assert total < 20_000_000


def test_sample_pages_are_as_promised():
    """4 sources, at least 100 pages and 50 queries, 6 languages, graded; a licence a page."""
    found = manifest.read_manifest(SAMPLE / "nano_vidore_v3")
    corpus = pq.read_table(SAMPLE / "nano_vidore_v3" / "corpus", columns=["license"])
    assert len(found["sources"]) == 4
    assert found["counts"]["corpus"] == corpus.num_rows >= 100
    assert found["counts"]["queries"] >= 50
    assert len(found["query_languages"]) == 6
    assert found["grades"] == [1, 2]
    assert all("GPL" in licence for licence in corpus["license"].to_pylist())


def test_sample_texts_are_as_promised():
    """5 languages x 3 settings, at least 8 documents and 12 queries each, of real OCR's errors."""
    found = manifest.read_manifest(SAMPLE / "ocr_mldr")
    assert found["languages"] == list(OCR_MLDR.languages)
    assert found["settings"] == list(OCR_MLDR.settings)
    for language in OCR_MLDR.languages:
        assert found["counts"][f"{language}_corpus"] >= 8
        assert found["counts"][f"{language}_queries"] >= 12
        rates = [found["cer"][language][s]["corpus"]["cer"] for s in OCR_MLDR.settings]
        assert rates == sorted(rates, reverse=True)  # 120 dpi reads worst, 300 best
        assert 0 < rates[-1] < rates[0] < 0.2


def content(folder):
    """Return file -> digest of its rows without images, which depend on Pillow's JPEG encoder."""
    found = {}
    for path in sorted(folder.rglob("*.parquet")):
        table = pq.read_table(path, partitioning=None)
        rows = table.drop_columns([c for c in ("image",) if c in table.column_names]).to_pylist()
        texts = [json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows]
        found[path.relative_to(folder).as_posix()] = content_key(range(len(rows)), texts)
    return found


@pytest.mark.parametrize(("kind", "options"), [("pages", PAGES), ("texts", TEXTS)])
def test_the_script_makes_a_slice_again(kind, options, tmp_path):
    """From the committed slice: the golden rows, and with the same tools the golden bytes."""
    command = [kind, str(SLICE / kind), *options, "--out", str(tmp_path / "out")]
    assert sample.main(command) == 0
    golden = json.loads(GOLDEN.read_text())
    tools = {tool: importlib.metadata.version(tool) for tool in TOOLS}
    assert content(tmp_path / "out") == golden[kind]["content"]
    if tools == golden["tools"]:
        made = manifest.read_manifest(tmp_path / "out")["files"]
        data = {name: made[name]["sha256"] for name in golden[kind]["content"]}
        assert data == golden[kind]["sha256"]


def test_inputs_are_recorded(tmp_path):
    """The manifest holds the sha256 of every input file."""
    command = ["pages", str(SLICE / "pages"), *PAGES, "--out", str(tmp_path / "out")]
    assert sample.main(command) == 0
    made_from = manifest.read_manifest(tmp_path / "out")["made_from"]
    files = (SLICE / "pages").rglob("*.parquet")
    inputs = {p.relative_to(SLICE / "pages").as_posix(): manifest.sha256_of(p) for p in files}
    assert made_from["files"] == inputs


def test_a_folder_without_licence_is_refused(tmp_path, capsys):
    """Data without a word on their licence do not get into the package."""
    assert sample.main(["texts", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "licence" in capsys.readouterr().err
