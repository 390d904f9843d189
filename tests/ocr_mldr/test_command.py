import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from builders.ocr_mldr.__main__ import main
from builders.ocr_mldr.error_rate import character_error_rate
from mteb_nano import catalog
from mteb_nano.manifest import read_manifest
from tests.ocr_mldr.ocr_cases import (
    GERMAN,
    command,
    content_of,
    environment,
    run_command,
    write_source,
)

PIXELS = ("--ocr-engine", "tests.ocr_mldr.pixel_engine:PixelEngine", "--recipe", "faithful")
REAL = ("--recipe", "fast", "--langs", "de", "ru", "--settings", "120/10", "300/12")


def build(source: Path, out: Path, *more, **env):
    return run_command("--source", source, "--out", out, *more, "--quiet", **env)


@pytest.fixture(scope="module")
def built(source, tmp_path_factory) -> Path:
    """A dataset by real Tesseract, two languages and two settings, one worker."""
    out = tmp_path_factory.mktemp("built") / "out"
    done = build(source, out, *REAL, "--shard-sentences", 4)
    assert (done.returncode, done.stderr) == (0, "")
    return out


def test_the_folder_is_the_layout_of_the_card(built):
    """`data/{lang}_{setting}_{corpus|queries|qrels}`, split test, with the card's columns."""
    folders = sorted(p.name for p in (built / "data").iterdir())
    expected = [
        f"{lang}_{setting}_{part}"
        for lang in ("de", "ru")
        for setting in ("dpi120_font10", "dpi300_font12")
        for part in ("corpus", "qrels", "queries")
    ]
    assert folders == sorted(expected)
    corpus = pq.read_table(built / "data" / "de_dpi120_font10_corpus").to_pydict()
    assert list(corpus) == ["_id", "clean_text", "ocr_text", "cer"]
    assert corpus["clean_text"] == GERMAN
    assert all(corpus["ocr_text"])
    qrels = pq.read_table(built / "data" / "de_dpi120_font10_qrels").to_pydict()
    assert qrels == {"query_id": ["q0", "q1"], "corpus_id": ["d0", "d1"], "score": [1, 1]}


def test_the_manifests_rates_are_those_of_the_texts(built):
    """Recomputed from the data: per document in the table, mean per cell in the manifest."""
    manifest = read_manifest(built)
    for lang in ("de", "ru"):
        for setting in ("dpi120_font10", "dpi300_font12"):
            for kind in ("corpus", "queries"):
                rows = pq.read_table(built / "data" / f"{lang}_{setting}_{kind}").to_pylist()
                rates = [character_error_rate(r["clean_text"], r["ocr_text"]) for r in rows]
                assert [r["cer"] for r in rows] == pytest.approx(rates, abs=1e-6)
                told = manifest["cer"][lang][setting][kind]
                assert told["cer"] == pytest.approx(sum(rates) / len(rates), abs=1e-6)
                assert told["n"] == len(rows)


def test_the_manifest_describes_a_dataset_and_names_what_made_it(built, source):
    """Task name, recipe, inputs, versions and checksums; no path and no time of this machine."""
    manifest = read_manifest(built)
    dataset = catalog.from_manifest(manifest, built)
    assert dataset.name == "OCRMLDRRebuilt"
    assert len(dataset.subsets) == 2 * 2 * 4
    assert manifest["tools"]["ocr"]["models"]["rus"]["is_the_recipes"]
    assert len(manifest["tools"]["font_sha256"]) == 64
    assert set(manifest["made_from"]["sha256"]) == {"de", "ru"}
    assert str(source) not in json.dumps(manifest)
    assert "de_dpi120_font10_corpus" in (built / "README.md").read_text()


@pytest.mark.parametrize("more", [("--workers", 2), ("--workers", 3, "--shard-sentences", 1)])
def test_any_number_of_workers_makes_identical_folders(source, built, tmp_path, more):
    """Byte by byte; the size of shards does not show either."""
    done = build(source, tmp_path / "out", *REAL, "--shard-sentences", 4, *more)
    assert (done.returncode, done.stderr) == (0, "")
    assert content_of(tmp_path / "out") == content_of(built)
    assert not (tmp_path / "out.work").exists()


@pytest.mark.slow
def test_ray_makes_an_identical_folder(source, built, tmp_path):
    """The same shards on a real Ray."""
    pytest.importorskip("ray", reason="needs the extra `ray`")
    more = ("--shard-sentences", 4, "--engine", "ray", "--workers", 2)
    done = build(source, tmp_path / "out", *REAL, *more)
    assert done.returncode == 0, done.stderr
    assert content_of(tmp_path / "out") == content_of(built)


@pytest.mark.slow
def test_killed_20_times_the_folder_is_the_same(source, built, tmp_path):
    """Kill -9 at random moments; each start redoes at most one shard per worker."""
    chooser = random.Random(20)
    out, work = tmp_path / "out", tmp_path / "out.work"
    arguments = ("--source", source, "--out", out, *REAL, "--shard-sentences", 4, "--quiet")
    n_before = 0
    for _ in range(20):
        process = subprocess.Popen(
            command(*arguments, "--workers", 2), env=environment(), start_new_session=True
        )
        time.sleep(chooser.uniform(0.3, 2.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        n_now = len(list(work.rglob("*.json")))
        assert n_now >= n_before or out.exists()
        n_before = n_now
        if out.exists():  # finished before the kill: start from nothing again
            assert content_of(out) == content_of(built)
            shutil.rmtree(out)
    done = run_command(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert content_of(out) == content_of(built)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]


def test_a_killed_run_redoes_at_most_one_shard_per_worker(source, tmp_path):
    """Counted by the images read: those of the interrupted shard, and no more."""
    log = tmp_path / "log"
    arguments = (*PIXELS, "--langs", "de", "--shard-sentences", 2, "--settings", "300/12")
    build(source, tmp_path / "whole", *arguments, PIXEL_ENGINE_LOG=str(log))
    n_whole = len(log.read_text())
    log.write_text("")
    process = subprocess.Popen(
        command("--source", source, "--out", tmp_path / "out", *arguments, "--quiet"),
        env=environment(PIXEL_ENGINE_LOG=str(log)),
    )
    while len(log.read_text()) < 5:
        time.sleep(0.001)
    process.kill()
    process.wait()
    build(source, tmp_path / "out", *arguments, PIXEL_ENGINE_LOG=str(log))
    assert n_whole <= len(log.read_text()) <= n_whole + 2
    assert content_of(tmp_path / "out") == content_of(tmp_path / "whole")


def test_ctrl_c_is_one_line_and_the_same_command_goes_on(source, tmp_path):
    """Exit status 130, no traceback, finished shards kept."""
    arguments = (*PIXELS, "--langs", "de", "--shard-sentences", 1, "--workers", 2)
    process = subprocess.Popen(
        command("--source", source, "--out", tmp_path / "out", *arguments, "--quiet"),
        env=environment(PIXEL_ENGINE_SECONDS="1"),  # half a minute in all: it cannot end by itself
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 100
    while not list((tmp_path / "out.work").rglob("*.json")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to workers too
    _, stderr = process.communicate(timeout=100)
    assert process.returncode == 130
    assert stderr == "stopped; the same command goes on from here\n"
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / "out.work").rglob("*.json"))
    for name in ("out", "other"):
        assert build(source, tmp_path / name, *arguments).returncode == 0
    assert content_of(tmp_path / "out") == content_of(tmp_path / "other")


def test_a_finished_build_is_left_alone(source, built, tmp_path):
    """The same command again does nothing; other options do not overwrite; --fresh does."""
    shutil.copytree(built, tmp_path / "out")
    again = run_command("--source", source, "--out", tmp_path / "out", *REAL)
    assert again.returncode == 0
    assert "is built already" in again.stdout
    other = build(source, tmp_path / "out", *PIXELS, "--langs", "de")
    assert other.returncode == 2
    assert "holds another dataset" in other.stderr
    assert content_of(tmp_path / "out") == content_of(built)
    fresh = build(source, tmp_path / "out", *PIXELS, "--langs", "de", "--fresh")
    assert fresh.returncode == 0
    assert read_manifest(tmp_path / "out")["languages"] == ["de"]


def test_two_runs_do_not_share_a_work_folder(source, tmp_path):
    """The second says so; the lock ends with its process however that ends."""
    import fcntl

    (tmp_path / "out.work").mkdir()
    with (tmp_path / "out.work" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = build(source, tmp_path / "out", *PIXELS, "--langs", "de")
    assert done.returncode == 2
    assert "another run is at work there" in done.stderr
    assert build(source, tmp_path / "out", *PIXELS, "--langs", "de").returncode == 0


def test_verify_tells_a_changed_file(built, tmp_path):
    """0 for what the manifest says, 1 and the file's name for anything else."""
    shutil.copytree(built, tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    good = run_command("--verify", manifest)
    assert (good.returncode, good.stderr) == (0, "")
    path = next((tmp_path / "out").rglob("ru*corpus/*.parquet"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    bad = run_command("--verify", manifest)
    assert bad.returncode == 1
    assert "ru_dpi" in bad.stderr
    elsewhere = run_command("--verify", manifest, "--out", built)
    assert elsewhere.returncode == 0


def test_verify_names_tools_that_differ(built, tmp_path):
    """Another Pillow or model file makes other bytes; the note says which."""
    shutil.copytree(built, tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["tools"]["pillow"] = "9.5.0"
    path.write_text(json.dumps(manifest))
    done = run_command("--verify", path)
    assert done.returncode == 0
    assert "note: pillow: " in done.stdout
    assert "9.5.0 in the manifest" in done.stdout


def test_a_dry_run_counts_and_writes_nothing(source, tmp_path):
    """Sentences, characters, core-hours and disk; no folder is made."""
    done = run_command("--source", source, "--out", tmp_path / "out", *REAL, "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "de dpi120_font10: 5 documents, 2 queries" in done.stdout
    for word in ("distinct sentences", "characters", "core-hours", "MB of disk"):
        assert word in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_unread_texts_stay_empty_and_are_counted(tmp_path):
    """What OCR did not read is "", never the clean text; the manifest counts it."""
    source = write_source(tmp_path / "s", {"de": ["Gut so.", "日本", "Mehr. 語 "]})
    done = build(source, tmp_path / "out", *PIXELS, "--langs", "de", "--on-missing-glyph", "drop")
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "out" / "data" / "de_dpi120_font10_corpus").to_pydict()
    assert rows["clean_text"][1] == "日本"
    assert rows["ocr_text"][1] == ""
    assert rows["cer"][1] == 1.0
    manifest = read_manifest(tmp_path / "out")
    told = manifest["cer"]["de"]["dpi120_font10"]["corpus"]
    assert (told["empty_texts"], told["empty_sentences"]) == (1, 2)
    assert manifest["recipe"]["missing_glyphs"] == {
        "de": {"characters": ["日", "本", "語"], "sentences": 2}
    }


def test_other_model_files_are_told_in_the_manifest(source, tmp_path):
    """With another checksum the build works, and says which file is not the recipe's."""
    other = tmp_path / "tessdata"
    other.mkdir()
    system = Path("/usr/share/tesseract-ocr/5/tessdata")
    shutil.copyfile(system / "fra.traineddata", other / "lat.traineddata")
    shutil.copyfile(system / "eng.traineddata", other / "deu.traineddata")
    more = ("--langs", "de", "--settings", "120/10", "--recipe", "published")
    done = run_command(
        "--source",
        source,
        "--out",
        tmp_path / "out",
        *more,
        "--tessdata",
        other,
        HOME=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert "deu: not the model file that the recipe names" in done.stdout
    told = read_manifest(tmp_path / "out")["tools"]["ocr"]["models"]["deu"]
    assert told["is_the_recipes"] is False
    assert told["sha256"] != told["recipe_sha256"]


def test_a_size_of_ones_own(source, tmp_path):
    """`--dpi 200 --font-size 11` is the setting 200/11."""
    out = tmp_path / "out"
    build(source, out, *PIXELS, "--langs", "de", "--dpi", "200", "--font-size", "11")
    assert read_manifest(out)["settings"] == ["dpi200_font11"]


def errors(source, tmp_path):
    """Command lines that cannot work, and what the message must say."""
    font = tmp_path / "font.ttf"
    font.write_text("no font")
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    out = ("--source", source, "--out", tmp_path / "out")
    cjk = write_source(tmp_path / "cjk", {"de": ["日本 gut.", "x"]})
    file = tmp_path / "file"
    file.write_text("")
    yield (), {}, "--out FOLDER is needed"
    yield (*out, *PIXELS, "--langs", "xx"), {}, "language 'xx': expected one of"
    yield (*out, *PIXELS, "--langs", "de", "de"), {}, "de stands twice"
    yield (*out, *PIXELS, "--settings", "120"), {}, "dpi120_font10 or 120/10"
    yield (*out, *PIXELS, "--dpi", 200), {}, "--dpi and --font-size go together"
    yield (*out, "--settings", "120/10", "--dpi", 9, "--font-size", 9), {}, "in place of --settings"
    yield (*out, *PIXELS, "--dpi", -1, "--font-size", 9), {}, "dpi120_font10 or 120/10"
    yield (*out, *PIXELS, "--docs", 0, "--workers", 0), {}, "--workers: expected at least 1, got 0"
    yield (*out, "--recipe", "none"), {}, "expected one of faithful, published"
    yield (*out, *PIXELS, "--font", font), {}, "font.ttf: expected a TrueType"
    yield (*out, *PIXELS, "--name", "a b"), {}, "--name: expected letters"
    yield (*out, *PIXELS, "--address", "x"), {}, "--address goes with --engine ray"
    yield (*out, *PIXELS, "--langs", "fr"), {}, "expected a folder fr/, found: de, ru"
    yield (*out, *PIXELS, "--ocr-engine", "nothing:x"), {}, "package.module:name"
    yield (
        (*out, *PIXELS, "--ocr-engine", "tests.ocr_mldr.pixel_engine:NoMethods"),
        {},
        "expected the methods read and describe",
    )
    yield (*out, "--langs", "it", "--recipe", "fast"), home, "apt install tesseract-ocr-ita"
    yield ("--source", "x/y/z", "--out", "o"), home, "error: "
    yield ("--source", cjk, "--out", tmp_path / "o", *PIXELS, "--langs", "de"), {}, "日 (U+65E5)"
    yield (
        ("--source", source, "--out", file / "out", *PIXELS, "--langs", "de"),
        {},
        "cannot be written",
    )
    yield ("--verify", tmp_path / "nothing"), {}, "expected a dataset folder"


def test_every_error_is_a_message_and_status_2(source, tmp_path, monkeypatch, capsys):
    """What was expected, what came, how to mend it; nothing is written."""
    for arguments, env, message in errors(source, tmp_path):
        with monkeypatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            status = main([*map(str, arguments), "--quiet"])
        stderr = capsys.readouterr().err
        assert status == 2, (arguments, stderr)
        assert stderr.startswith("error: ")
        assert message in stderr, (arguments, stderr)
        assert not list(tmp_path.glob("out*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk")
def test_a_full_disk_is_a_message_and_the_run_goes_on_elsewhere(source, built, tmp_path):
    """A real full disk: one message, and with space again the same command ends the build."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=80k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        out = disk / "out"
        done = build(source, out, *REAL, "--shard-sentences", 4)
        assert done.returncode == 2, done.stderr
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        assert not out.exists()
        grown = ["mount", "-o", "remount,size=8m", str(disk)]
        subprocess.run(grown, check=True, capture_output=True)
        assert build(source, out, *REAL, "--shard-sentences", 4).returncode == 0
        assert content_of(out) == content_of(built)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_help_explains_by_example():
    """The examples can be read without knowing the options."""
    done = run_command("--help")
    assert done.returncode == 0
    for line in ("--dry-run", "--recipe fast", "known_items", "--engine ray", "--verify"):
        assert line in done.stdout


@pytest.mark.parametrize("module", ["builders.ocr_mldr", "builders.ocr_mldr.known_items"])
@pytest.mark.parametrize("package", ["sentencex", "yaml"])
def test_a_missing_package_is_told_by_its_extra(module, package):
    """Whoever installed mteb-nano alone sees one line, not a traceback."""
    code = (
        f"import runpy, sys; sys.modules[{package!r}] = None; "
        f"runpy.run_module({module!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment()
    )
    message = f"{package} is missing: pip install 'mteb-nano[builders]'\n"
    assert (done.returncode, done.stderr) == (2, message)
