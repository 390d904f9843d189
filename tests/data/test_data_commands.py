"""`mteb-nano check` and `mteb-nano data`: what they print and what status they return."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builders.export import write_parquet
from mteb_nano import catalog, cli
from mteb_nano.commands import data
from tests import generate


def check(capsys, *folders):
    """Return the exit status, the printed lines and the error lines of `mteb-nano check`."""
    status = cli.main(["check", *map(str, folders)])
    printed = capsys.readouterr()
    # The library shows its progress on the same stream, in lines that it overwrites.
    lines = [line for line in printed.err.split("\n") if "Generating test split" not in line]
    return status, printed.out.splitlines(), [line for line in lines if line.strip()]


def test_sound_folders_pass(capsys, pages, texts):
    """Status 0, and one line a folder that says what it was held to."""
    status, lines, errors = check(capsys, pages, texts)
    assert (status, errors) == (0, [])
    assert lines == [
        f"{pages} (PagesGenerated, page-retrieval): no faults found",
        f"{texts} (TextsGenerated, ocr-retrieval): no faults found",
    ]


def test_every_fault_is_printed_and_the_status_is_2(capsys, texts):
    """A changed file is told by its hash and by what is wrong in it, beside a lost folder."""
    path = texts / "data/de_dpi120_font10_qrels/test-00000-of-00001.parquet"
    write_parquet(generate.table_of([{"query_id": "q", "corpus_id": "d", "score": 1}]), path)
    shutil.rmtree(texts / "data/ru_dpi300_font12_corpus")
    status, lines, _ = check(capsys, texts)
    told = "\n".join(lines)
    assert status == 2
    assert "de_dpi120_font10: qrels: 1 name unknown queries: q" in told
    assert "de_dpi120_font10: queries: 6 have no relevant document" in told
    assert "ru_dpi300_font12_corpus: expected" in told
    assert "the manifest names it, but it does not exist" in told
    assert "de_dpi120_font10_qrels/test-00000-of-00001.parquet: " in told
    assert lines[-1].endswith(f"{len(lines) - 1} faults found")


def test_damage_that_loading_does_not_see_is_found(capsys, tmp_path):
    """A page whose header and end are whole and whose middle is not: only decoding tells."""
    rows = generate.page_rows(("hr", "physics"))
    content = bytearray(rows["corpus"][0]["image"]["bytes"])
    middle = len(content) // 2
    content[middle : middle + 20] = bytes(20)
    rows["corpus"][0]["image"] = {"bytes": bytes(content), "path": None}
    folder = generate.write(tmp_path / "d", rows, manifest=generate.page_manifest(rows))
    status, lines, _ = check(capsys, folder)
    assert status == 2
    assert f"corpus: the image of {rows['corpus'][0]['_id']} cannot be decoded" in lines[0]


def test_without_manifest_a_folder_is_held_to_the_published_dataset(capsys, tmp_path):
    """A snapshot of the Hub's repository has no manifest: the card's numbers are what counts."""
    folder = generate.write(tmp_path / "d", generate.page_rows(), manifest=None)
    snapshot = generate.hub_cache(tmp_path / "hub", folder, "lightonai/NanoViDoRe_v3")
    status, lines, _ = check(capsys, snapshot)
    assert status == 2
    assert "corpus: 32, the published dataset has 4,000" in lines
    assert "no manifest.json, so held to the published NanoViDoReV3" in lines[-1]


@pytest.mark.parametrize("content", ["nothing", "other files", "a file", "a loop", "gone"])
def test_what_is_no_dataset_is_one_line(capsys, tmp_path, content):
    """An empty folder, somebody's notes, a file, links in a circle: said in one line, status 2."""
    place = tmp_path / "place"
    if content == "a file":
        place.write_text("")
    elif content == "a loop":
        place.symlink_to(place)
    elif content != "gone":
        place.mkdir()
    if content == "other files":
        (place / "notes.txt").write_text("")
        (place / "again").symlink_to(place)
    status, lines, errors = check(capsys, place)
    assert (status, lines, len(errors)) == (2, [], 1)
    assert str(place) in errors[0]
    assert "expected a dataset folder" in errors[0] or "cannot be read" in errors[0]


def test_one_bad_folder_does_not_hide_the_next(capsys, tmp_path, texts):
    """Of several folders all are checked; the status is the worst."""
    status, lines, errors = check(capsys, tmp_path / "gone", texts)
    assert (status, len(lines), len(errors)) == (2, 1, 1)


def test_an_unreadable_folder_is_one_line(capsys, open_folder, without_rights):
    """Missing rights are told by name, without a traceback."""
    folder = generate.texts(open_folder / "texts", languages=("de",))
    folder.chmod(0o000)
    with without_rights():
        status, lines, errors = check(capsys, folder)
    assert (status, lines) == (2, [])
    assert errors == [f"{folder}: cannot be read (Permission denied)"]


@pytest.mark.parametrize("name", ["manifest.json", "data/de_dpi120_font10_qrels/{}", "README.md"])
def test_an_unreadable_file_is_told_by_name(capsys, open_folder, without_rights, name):
    """The manifest, the card or a table: a line each that names the file, status 2."""
    folder = generate.texts(open_folder / "texts", languages=("de",))
    path = folder / name.format("test-00000-of-00001.parquet")
    path.chmod(0o000)
    with without_rights():
        status, lines, errors = check(capsys, folder)
    told = "\n".join(lines + errors)
    assert status == 2
    assert str(path) in told
    assert "Permission denied" in told
    assert "Traceback" not in told


def test_a_manifest_at_fault_is_one_line(capsys, tmp_path):
    """Not JSON, fields missing, a name that is published with another kind of data."""
    for content in (b"{", b"[]", b'{"name": "Mine"}', b'{"kind": "page-retrieval"}'):
        (tmp_path / "manifest.json").write_bytes(content)
        status, lines, errors = check(capsys, tmp_path)
        assert (status, lines, len(errors)) == (2, [], 1)
        assert "manifest.json" in errors[0]


def test_links_in_a_circle_inside_a_dataset_do_not_hang_the_check(capsys, texts):
    """A link to a folder above is not walked through."""
    (texts / "data/again").symlink_to(texts)
    status, _, errors = check(capsys, texts)
    assert (status, errors) == (0, [])


def test_the_command_exits_with_its_status(tmp_path):
    """As a process: status 2, one line on stderr, nothing on stdout, no traceback."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "mteb_nano.cli", "check", str(tmp_path)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_published_data_that_are_not_there_say_how_to_get_them(tmp_path, monkeypatch):
    """Before any download: where it would come from, how to get it, its licence and size."""
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    told = data.describe(catalog.NANO_VIDORE_V3)
    assert told["read from"] == "lightonai/NanoViDoRe_v3@main"
    assert told["state"] == "not downloaded yet: mteb-nano data --fetch NanoViDoReV3"
    assert told["licence"] == "cc-by-4.0"
    assert told["size"] == ("8 sources, 4,000 pages, 400 queries, 2,061 qrels, 1,782 judged pages")
    assert data.describe(catalog.OCR_MLDR)["size"] == (
        "5 languages x 3 settings, 10,000 documents, 1,600 queries in each setting"
    )


def test_cached_data_are_told_with_their_commit_and_real_counts(tmp_path, monkeypatch):
    """What lies in the Hub's cache is counted, not taken from the card."""
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    folder = generate.write(tmp_path / "d", generate.page_rows(), manifest=None)
    snapshot = generate.hub_cache(tmp_path, folder, "lightonai/NanoViDoRe_v3")
    told = data.describe(catalog.NANO_VIDORE_V3)
    assert told["revision"] == generate.COMMIT
    assert told["size"] == "8 sources, 32 pages, 24 queries, 48 qrels"
    assert "corpus: 32, the published dataset has 4,000" in told["state"]
    (snapshot / "qrels/test-00000-of-00001.parquet").unlink()
    told = data.describe(catalog.NANO_VIDORE_V3)
    assert told["state"] == "incomplete, lacks qrels; mteb-nano data --fetch NanoViDoReV3"


def test_data_put_in_place_are_told_with_the_variable(tmp_path, monkeypatch):
    """The table says that other data are read, from where, and which revision they are."""
    folder = generate.texts(tmp_path / "t")
    monkeypatch.setenv("MTEB_NANO_OCRMLDR", str(folder))
    told = data.describe(catalog.OCR_MLDR)
    assert told["read from"] == f"{folder} (by MTEB_NANO_OCRMLDR)"
    assert told["state"] == "complete"
    assert told["revision"].startswith("local-")
    assert told["size"] == ("5 languages x 3 settings, 60 documents, 30 queries in each setting")


@pytest.mark.parametrize("place", ["/no/such/folder", "-a..b/c--d"])
def test_a_place_at_fault_is_a_row_of_the_table(monkeypatch, place):
    """A variable that leads nowhere spoils its own row alone."""
    monkeypatch.setenv("MTEB_NANO_OCRMLDR", place)
    assert place in data.describe(catalog.OCR_MLDR)["at fault"]


def test_a_broken_file_is_a_row_of_the_table(tmp_path, monkeypatch):
    """A corrupt file in the place of a dataset is told there."""
    folder = generate.texts(tmp_path / "t")
    (folder / "data/de_dpi120_font10_corpus/test-00000-of-00001.parquet").write_bytes(b"x")
    monkeypatch.setenv("MTEB_NANO_OCRMLDR", str(folder))
    assert "cannot be read" in data.describe(catalog.OCR_MLDR)["at fault"]


def test_the_table_lists_published_sample_and_own_datasets(tmp_path, monkeypatch, capsys):
    """One row for each dataset, with all of its tasks; piped, paths are not broken."""
    folder = generate.pages(tmp_path / ("long" * 20), name="Mine", sources=("hr",))
    monkeypatch.setenv("MTEB_NANO_DATA", str(folder))
    assert cli.main(["data"]) == 0
    printed = capsys.readouterr().out
    for name in ("NanoViDoReV3", "OCRMLDR", "Mine", "MineMarkdown", "MineImageMarkdown"):
        assert name in printed
    assert str(folder) in printed
    assert "start-up hook" in printed


def test_fetch_of_an_unknown_name_lists_the_known(capsys):
    """Status 2, and the names that there are."""
    assert cli.main(["data", "--fetch", "Nothing"]) == 2
    assert "expected one of NanoViDoReV3, OCRMLDR" in capsys.readouterr().err


def test_fetch_prints_the_folder(tmp_path, monkeypatch, capsys):
    """A script can use what is printed."""
    folder = generate.texts(tmp_path / "t")
    monkeypatch.setenv("MTEB_NANO_OCRMLDR", str(folder))
    assert cli.main(["data", "--fetch", "OCRMLDR"]) == 0
    assert capsys.readouterr().out == f"{folder}\n"
