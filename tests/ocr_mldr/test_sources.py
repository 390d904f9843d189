import json
import os
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.ocr_mldr import config_sources
from builders.ocr_mldr.config_sources import HubSource
from builders.ocr_mldr.plan import make_plan
from builders.ocr_mldr.sources import FolderSource, Qrel, open_source
from mteb_nano.errors import UserError
from tests.ocr_mldr.ocr_cases import GERMAN, write_source


def hub_layout(folder, *, title=False, lang="de"):
    """Write a folder as the Hub has it: README with configs, parquet files."""
    rows = [{"_id": f"d{n}", "text": text} for n, text in enumerate(GERMAN)]
    if title:
        rows = [{**row, "title": f"Titel {row['_id']}"} for row in rows]
    tables = {
        "corpus": pa.Table.from_pylist(rows),
        "queries": pa.table({"_id": ["q0", "q1"], "text": ["Was ist RAID?", "Was ist gut?"]}),
        "qrels": pa.table(
            {
                "query-id": ["q0", "q0", "q0", "q1"],
                "corpus-id": ["d0", "d1", "d2", "d1"],
                "score": [1, 1, 0, 1],
            }
        ),
    }
    lines = ["---", "configs:"]
    for part, table in tables.items():
        path = f"{lang}-{part}/test.parquet"
        (folder / path).parent.mkdir(parents=True)
        pq.write_table(table, folder / path)
        lines += [f"- config_name: {lang}-{part}", "  data_files:", "  - split: test"]
        lines += [f"    path: {path}"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))
    return folder


def plan_of(source, tmp_path, n=5, **options):
    chosen = {"seed": 0, "max_chars": 2000, **options}
    return make_plan(tmp_path / "plan.sqlite", source, "de", n_documents=n, **chosen)


def test_beir_files_are_read(source):
    """The layout of BEIR, one folder a language."""
    beir = open_source(str(source))
    assert dict(beir.documents("de")) == {f"d{n}": text for n, text in enumerate(GERMAN)}
    assert list(beir.qrels("de")) == [Qrel("q0", "d0", 1), Qrel("q1", "d1", 1)]


def test_text_files_are_documents(source, tmp_path):
    """Each `*.txt` is a document; queries and labels lie beside."""
    shutil.copytree(source / "de", tmp_path / "de")
    (tmp_path / "de" / "corpus.jsonl").unlink()
    for n, text in enumerate(GERMAN):
        (tmp_path / "de" / f"d{n}.txt").write_text(text, encoding="utf-8")
    texts = open_source(str(tmp_path))
    assert dict(texts.documents("de")) == dict(open_source(str(source)).documents("de"))


def test_the_hubs_layout_is_read_from_a_folder(tmp_path):
    """A dataset's snapshot, or a folder made like one, needs no network."""
    found = open_source(str(hub_layout(tmp_path / "repo")))
    assert dict(found.documents("de"))["d0"] == GERMAN[0]
    assert dict(found.queries("de"))["q1"] == "Was ist gut?"
    assert len(list(found.qrels("de"))) == 4


def test_the_hubs_repositories_are_read_at_one_commit(tmp_path, monkeypatch):
    """`datasets` reads the same rows; a folder stands for the repository here."""
    import datasets.config

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(config_sources, "_resolve", lambda name, revision: revision)
    folder = hub_layout(tmp_path / "hub")
    remote = HubSource(str(folder), split="test", revision="a" * 40)
    local = open_source(str(folder))
    assert list(remote.documents("de")) == list(local.documents("de"))
    assert list(remote.queries("de")) == list(local.queries("de"))
    assert list(remote.qrels("de")) == list(local.qrels("de"))
    assert remote.describe()["revision"] == "a" * 40


def test_a_hub_that_cannot_be_reached_is_one_line(tmp_path):
    """Without a network the command says so, whatever the Hub's client raises."""
    environment = {k: v for k, v in os.environ.items() if k != "HF_HUB_OFFLINE"}
    done = subprocess.run(
        [sys.executable, "-m", "builders.ocr_mldr", "--out", str(tmp_path / "o"), "--dry-run"],
        env={**environment, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "cannot be had from the Hub" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_config_lists_those_there_are(tmp_path):
    """The layout is not guessed at."""
    found = open_source(str(hub_layout(tmp_path / "repo")))
    with pytest.raises(UserError, match="config fr-corpus, found de-corpus, de-queries, de-qrels"):
        list(found.documents("fr"))


def test_the_shape_of_miracl_is_read(tmp_path):
    """Titles go before texts, several documents answer a query, and zero grades are left out."""
    plan = plan_of(open_source(str(hub_layout(tmp_path / "repo", title=True))), tmp_path)
    texts = {t.id: t.clean for t in plan.texts("corpus")}
    assert texts["d1"] == f"Titel d1\n{GERMAN[1]}"
    assert [(q.query, q.document) for q in plan.qrels] == [("q0", "d0"), ("q0", "d1"), ("q1", "d1")]
    assert plan.counts["qrels_without_relevance_left_out"] == 1
    assert plan.counts["judged"] == 2


@pytest.mark.parametrize("name", ["no-such-folder", "a/b/c", "./nothing"])
def test_what_is_neither_folder_nor_repository_is_refused(name):
    """The message says what was looked for."""
    with pytest.raises(UserError, match="expected a folder or a dataset of the Hub"):
        open_source(name)


def test_an_empty_folder_lists_the_layouts(tmp_path):
    """Nothing is guessed."""
    layouts = (
        r"corpus\.jsonl \(BEIR\) or LANG/\*\.txt, either beside LANG/queries\.jsonl and "
        r"LANG/qrels/test\.tsv; or a README"
    )
    with pytest.raises(UserError, match=layouts):
        open_source(str(tmp_path))


@pytest.mark.parametrize("name", ["queries.jsonl", "qrels/test.tsv"])
def test_texts_without_queries_or_labels_are_told_what_else_is_needed(source, tmp_path, name):
    """Both files are named with their columns, and the command that makes them."""
    shutil.copytree(source, tmp_path / "s")
    (tmp_path / "s" / "de" / name).unlink()
    message = (
        rf"{name}: is missing; .*queries\.jsonl \(_id, text\) and qrels/test\.tsv.*known_items"
    )
    with pytest.raises(UserError, match=message):
        plan_of(open_source(str(tmp_path / "s")), tmp_path)


def test_a_missing_language_lists_what_is_there(source):
    """A language is never replaced by another."""
    with pytest.raises(UserError, match="expected a folder fr/, found: de, ru"):
        list(open_source(str(source)).documents("fr"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", "line 2: expected JSON"),
        ('["a"]', "line 2: expected an object"),
        ('{"_id": "x"}', "row 2: expected an id"),
        ('{"_id": "", "text": "a"}', "row 2: expected an id"),
        ('{"_id": "x", "text": null}', "row 2: expected an id"),
    ],
)
def test_a_bad_row_is_named_by_file_and_number(tmp_path, line, message):
    """File, row, what was expected."""
    home = tmp_path / "de"
    home.mkdir()
    (home / "corpus.jsonl").write_text(json.dumps({"_id": "a", "text": "b"}) + "\n" + line)
    with pytest.raises(UserError, match=rf"corpus\.jsonl, {message}"):
        list(FolderSource(tmp_path, split="test").documents("de"))


def test_text_that_is_not_utf8_is_refused(tmp_path):
    """Bytes of another encoding are named, not replaced."""
    (tmp_path / "de").mkdir()
    (tmp_path / "de" / "a.txt").write_bytes("für".encode("latin-1"))
    with pytest.raises(UserError, match=r"a\.txt: expected UTF-8, byte 1 is not"):
        list(FolderSource(tmp_path, split="test").documents("de"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query-id\tcorpus-id\tscore\nq\td\tx", "whole number.*found query-id=q, .*score=x"),
        ("q\td\t1", "a first line with the names query-id, corpus-id and score.*found q d 1"),
        ("query-id\tcorpus-id\tscore\nq\td.txt\t1", "d.txt; there are such as "),
    ],
)
def test_a_bad_label_is_named(source, tmp_path, text, message):
    """Columns, a whole number, ids that exist."""
    shutil.copytree(source, tmp_path / "s")
    (tmp_path / "s" / "de" / "qrels" / "test.tsv").write_text(text)
    with pytest.raises(UserError, match=message):
        plan_of(open_source(str(tmp_path / "s")), tmp_path)


def test_lone_surrogates_and_nul_from_json_are_stored(tmp_path):
    """JSON can hold what UTF-8 and SQLite cannot."""
    source = open_source(str(write_source(tmp_path / "s", {"de": ["Gut\ud800\x00. Ja.", "Nein."]})))
    plan = plan_of(source, tmp_path)
    assert [t.clean for t in plan.texts("corpus")] == ["Gut. Ja.", "Nein."]
