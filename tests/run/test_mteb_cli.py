"""The real `mteb` command, unmodified, on the published names with generated data in place."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import generate

BIN = Path(sys.executable).parent


def command(*arguments, env=None, check=True):
    """Run a command of this environment, offline, and return what it did."""
    done = subprocess.run(
        [str(BIN / arguments[0]), *map(str, arguments[1:])],
        env={**os.environ, "HF_HUB_OFFLINE": "1", **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stderr[-3000:]
    return done


def result(folder, task):
    (path,) = folder.rglob(f"{task}.json")
    return json.loads(path.read_text())


def by_subset(found):
    return {scores["hf_subset"]: scores for scores in found["scores"]["test"]}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Generated data under the published names' variables."""
    root = tmp_path_factory.mktemp("data")
    generate.pages(root / "pages")
    generate.texts(root / "texts", n_documents=6, n_queries=3)
    return {
        "MTEB_NANO_NANOVIDOREV3": str(root / "pages"),
        "MTEB_NANO_OCRMLDR": str(root / "texts"),
        "MTEB_NANO_CACHE": str(root / "cache"),
    }


@pytest.fixture(scope="module")
def text_run(data, tmp_path_factory):
    """One run of both text tasks with bm25s."""
    out = tmp_path_factory.mktemp("results")
    tasks = ("NanoViDoReV3Markdown", "OCRMLDR")
    options = ("--output-folder", out, "--prediction-folder", out / "predictions")
    command("mteb", "run", "-t", *tasks, "-m", "mteb/baseline-bm25s", *options, env=data)
    return out


def test_both_published_text_tasks_run(text_run):
    """`mteb run -t` of both writes 8 and 60 subsets, and the revision of the data."""
    pages, texts = (result(text_run, t) for t in ("NanoViDoReV3Markdown", "OCRMLDR"))
    assert sorted(by_subset(pages)) == sorted(generate.NANO_VIDORE_V3.sources)
    assert len(by_subset(texts)) == 60
    assert pages["dataset_revision"].startswith("local-")
    assert texts["dataset_revision"].startswith("local-")
    assert pages["dataset_revision"] != texts["dataset_revision"]


def test_a_result_file_keeps_scores_by_query_and_group(text_run):
    """Per-query scores survive mteb's own writing and reading; groups are means of them."""
    import mteb

    (path,) = text_run.rglob("NanoViDoReV3Markdown.json")
    scores = mteb.TaskResult.from_disk(path).scores["test"][0]
    per_query = scores["per_query"]
    assert set(per_query) == {"ndcg_at_10", "mrr_at_10", "recall_at_100"}
    for metric, values in per_query.items():
        assert len(values) == 3
        assert sum(values.values()) / 3 == pytest.approx(scores[metric], abs=1e-5)
    languages = {k: v for k, v in scores.items() if k.startswith("ndcg_at_10_lang_")}
    formats = {k: v for k, v in scores.items() if k.startswith("ndcg_at_10_format_")}
    assert languages
    assert formats
    assert all(0 <= v <= 1 for v in (*languages.values(), *formats.values()))


def test_ndcg_recomputed_from_predictions(data, text_run):
    """ir_measures gives the file's nDCG@10 from saved predictions, after mteb's rounding."""
    import ir_measures

    from mteb_nano.load import load_pages

    found = by_subset(result(text_run, "NanoViDoReV3Markdown"))
    saved = json.loads((text_run / "predictions/NanoViDoReV3Markdown_predictions.json").read_text())
    for source in ("hr", "industrial"):
        qrels = qrels_of(Path(data["MTEB_NANO_NANOVIDOREV3"]), source, load_pages)
        ndcg = {
            row.query_id: row.value
            for row in ir_measures.iter_calc([ir_measures.nDCG @ 10], qrels, saved[source]["test"])
        }
        assert ndcg.keys() == found[source]["per_query"]["ndcg_at_10"].keys()
        for query, value in ndcg.items():
            assert found[source]["per_query"]["ndcg_at_10"][query] == round(value, 6)
        assert found[source]["ndcg_at_10"] == round(sum(ndcg.values()) / len(ndcg), 5)


def qrels_of(pages, source, load_pages):
    """Return the qrels of the data that a run read."""
    from dataclasses import replace

    from mteb_nano.catalog import NANO_VIDORE_V3

    row = replace(NANO_VIDORE_V3, folder=pages, hub_id=None, published=False, counts={})
    return load_pages(row, "markdown", [source])[source].qrels


def test_image_task_runs_with_tesseract(data, tmp_path):
    """`mteb run -t NanoViDoReV3` serves page images; Tesseract + BM25 reads them, once."""
    run = ("mteb", "run", "-t", "NanoViDoReV3", "-m", "mteb-nano/tesseract-bm25s")
    command(*run, "--output-folder", tmp_path / "one", env=data)
    cached = sorted(Path(data["MTEB_NANO_CACHE"]).rglob("*.json"))
    stamps = [p.stat().st_mtime_ns for p in cached]
    assert cached
    command(*run, "--output-folder", tmp_path / "two", env=data)
    assert [p.stat().st_mtime_ns for p in cached] == stamps
    one, two = (by_subset(result(tmp_path / n, "NanoViDoReV3")) for n in ("one", "two"))
    assert {s: r["main_score"] for s, r in one.items()} == {
        s: r["main_score"] for s, r in two.items()
    }


def test_benchmark_and_subset_selection(data, tmp_path):
    """`mteb run -b OCR-MLDR` runs the task; MTEB_NANO_SUBSETS narrows it by glob."""
    env = {**data, "MTEB_NANO_SUBSETS": "fr_dpi120_font10_*"}
    run = ("mteb", "run", "-b", "OCR-MLDR", "-m", "mteb/baseline-bm25s")
    command(*run, "--output-folder", tmp_path, env=env)
    modes = ("clean", "ocr", "clean2ocr", "ocr2clean")
    assert set(by_subset(result(tmp_path, "OCRMLDR"))) == {f"fr_dpi120_font10_{m}" for m in modes}


def test_a_killed_run_goes_on(data, tmp_path, text_run):
    """A kill -9 in the middle, then the same command: the scores of an unbroken run."""
    run = ("run", "-t", "OCRMLDR", "-m", "mteb/baseline-bm25s", "--output-folder", str(tmp_path))
    env = {**os.environ, "HF_HUB_OFFLINE": "1", **data}
    process = subprocess.Popen([str(BIN / "mteb"), *run], env=env, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while not list(tmp_path.rglob("OCRMLDR.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    n_done = len(by_subset(result(tmp_path, "OCRMLDR")))
    assert 0 < n_done < 60
    command("mteb", *run, env=data)
    resumed, unbroken = (by_subset(result(f, "OCRMLDR")) for f in (tmp_path, text_run))
    assert {s: r["main_score"] for s, r in resumed.items()} == {
        s: r["main_score"] for s, r in unbroken.items()
    }


def test_text_model_on_images_is_told_the_task_that_fits(data):
    """One line with the fitting task, exit status 2, no traceback; in `mteb run` as in ours."""
    for program in ("mteb", "mteb-nano"):
        run = (program, "run", "-t", "NanoViDoReV3", "-m", "mteb/baseline-bm25s")
        done = command(*run, env=data, check=False)
        assert done.returncode == 2
        last = done.stderr.strip().splitlines()[-1]
        assert "use -t NanoViDoReV3Markdown" in last
        assert "Traceback" not in done.stderr


def test_bad_data_is_one_message(data, tmp_path):
    """A fault of the data ends `mteb run` with all faults, exit status 2 and no traceback."""
    broken = tmp_path / "broken"
    shutil.copytree(data["MTEB_NANO_NANOVIDOREV3"], broken)
    (path,) = (broken / "queries").glob("*.parquet")
    path.write_bytes(path.read_bytes()[:200])
    run = ("mteb", "run", "-t", "NanoViDoReV3Markdown", "-m", "mteb/baseline-bm25s")
    done = command(*run, env={**data, "MTEB_NANO_NANOVIDOREV3": str(broken)}, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "queries/test-00000-of-00001.parquet: cannot be read" in done.stderr


def test_a_dataset_folder_is_a_task(tmp_path):
    """`mteb-nano run --data` and MTEB_NANO_DATA run a folder under its manifest's name."""
    mine = generate.texts(
        tmp_path / "mine", name="OurScans", languages=["fr"], settings=["dpi200_font11"]
    )
    run = ("mteb-nano", "run", "--data", mine, "-m", "mteb/baseline-bm25s", "--mode", "ocr")
    command(*run, "--output-folder", tmp_path / "out")
    assert list(by_subset(result(tmp_path / "out", "OurScans"))) == ["fr_dpi200_font11_ocr"]
    run = ("mteb", "run", "-t", "OurScans", "-m", "mteb/baseline-bm25s")
    command(*run, "--output-folder", tmp_path / "out", env={"MTEB_NANO_DATA": str(mine)})
    assert len(by_subset(result(tmp_path / "out", "OurScans"))) == 4


def test_the_published_repository_runs_from_the_hubs_cache(tmp_path):
    """From the Hub's cache, offline: records the commit; other counts warn, `check` refuses."""
    rows = generate.page_rows()
    for row in rows["queries"]:
        del row["query_format"]
    folder = generate.write(tmp_path / "plain", rows, manifest=None)
    snapshot = generate.hub_cache(tmp_path / "hub", folder, "lightonai/NanoViDoRe_v3")
    run = ("mteb", "run", "-t", "NanoViDoReV3Markdown", "-m", "mteb/baseline-bm25s")
    env = {"HF_HUB_CACHE": str(tmp_path / "hub"), "COLUMNS": "300"}
    done = command(*run, "--output-folder", tmp_path / "out", env=env)
    found = result(tmp_path / "out", "NanoViDoReV3Markdown")
    assert found["dataset_revision"] == generate.COMMIT == snapshot.name
    said = " ".join((done.stdout + done.stderr).split())
    assert "corpus: 32, the published dataset has 4,000" in said
    assert "the queries have no format, so there are no scores ndcg_at_10_format_*" in said
    assert not any("_format_" in key for key in found["scores"]["test"][0])
    checked = command("mteb-nano", "check", snapshot, check=False)
    assert checked.returncode == 2
    assert "corpus: 32, the published dataset has 4,000" in checked.stdout
