"""Bad input: each fault is one clear line, and the rest is still read."""

import json
import os
import shutil

import pytest

from mteb_nano.errors import UserError
from mteb_nano.report.__main__ import main
from mteb_nano.report.reading import Reading, read_results


def _edit(path, change):
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def _one_problem(reading: Reading, *words: str) -> None:
    assert len(reading.problems) == 1, reading.problems
    for word in words:
        assert word in reading.problems[0]


def test_mteb_writes_what_is_read(write_pages):
    """Everything in a file written by mteb's TaskResult arrives: names, scores, queries, time."""
    path = write_pages("org/model", revision="rev1")
    result = read_results([path]).results[0]
    assert (result.model, result.revision, result.task) == ("org/model", "rev1", "NanoViDoReV3")
    assert result.seconds == 12.5
    assert len(result.subsets) == 8
    subset = result.subsets["hr"]
    assert len(subset.per_query["ndcg_at_10"]) == 50
    mean = sum(subset.per_query["ndcg_at_10"].values()) / 50
    assert subset.scores["ndcg_at_10"] == pytest.approx(mean, abs=1e-5)


def test_truncated_json_is_told_and_the_rest_is_read(write_pages, tmp_path):
    """A file cut in the middle costs one line that names it; the other model is still there."""
    write_pages("org/good")
    broken = write_pages("org/broken")
    broken.write_bytes(broken.read_bytes()[:5000])
    reading = read_results([tmp_path])
    assert [r.model for r in reading.results] == ["org/good"]
    _one_problem(reading, "org__broken", "cut-off JSON", "run the task again")


@pytest.mark.parametrize(
    "literal", ["NaN", "Infinity", "-Infinity", "1e999", "1.5", '"0.5"', "true"]
)
def test_a_score_that_is_no_score_is_missing(write_pages, literal):
    """NaN, infinities, text and values above 1 make a subset missing, never part of a mean."""
    path = write_pages("org/model")
    text = path.read_text(encoding="utf-8")
    score = json.loads(text)["scores"]["test"][3]["ndcg_at_10"]
    path.write_text(text.replace(f'"ndcg_at_10": {score}', f'"ndcg_at_10": {literal}', 1))
    reading = read_results([path])
    _one_problem(reading, "finance_fr", "ndcg_at_10", "treated as missing")
    assert "finance_fr" not in reading.results[0].subsets
    assert len(reading.results[0].subsets) == 7


def test_nan_in_per_query_scores_takes_only_the_interval(write_pages):
    """One NaN among the per-query scores: the score stays, its per-query scores are not used."""
    path = write_pages("org/model")
    text = path.read_text(encoding="utf-8")
    score = json.loads(text)["scores"]["test"][0]["per_query"]["ndcg_at_10"]["computer_science-7"]
    path.write_text(text.replace(f'"computer_science-7": {score}', '"computer_science-7": NaN', 1))
    reading = read_results([path])
    _one_problem(reading, "computer_science-7", "nan", "not used")
    subset = reading.results[0].subsets["computer_science"]
    assert "ndcg_at_10" in subset.scores
    assert "ndcg_at_10" not in subset.per_query


def test_per_query_scores_of_another_run_are_not_used(write_pages):
    """Per-query scores whose mean is not the file's score cannot be those behind it."""
    path = write_pages("org/model")

    def change(data):
        data["scores"]["test"][0]["ndcg_at_10"] += 0.001

    _edit(path, change)
    reading = read_results([path])
    _one_problem(reading, "computer_science", "another mean")
    assert "ndcg_at_10" not in reading.results[0].subsets["computer_science"].per_query


def test_a_file_of_old_mteb_is_named_as_such(write_pages, tmp_path):
    """The shape before mteb 1.11 is recognised instead of called broken."""
    write_pages("org/good")
    old = {"mteb_dataset_name": "NanoViDoReV3", "mteb_version": "1.2", "test": {"ndcg_at_10": 0.5}}
    (tmp_path / "old.json").write_text(json.dumps(old))
    _one_problem(read_results([tmp_path]), "old.json", "before 1.11")


def test_a_newer_file_with_unknown_fields_is_read(write_pages):
    """Fields that a later mteb adds do not matter."""
    path = write_pages("org/model")
    _edit(path, lambda data: data.update(schema_version=9, new={"a": [1]}))
    reading = read_results([path])
    assert not reading.problems
    assert reading.results[0].model == "org/model"


def test_files_of_other_tasks_are_counted_not_listed(write_pages, tmp_path, task_result_class):
    """A folder of a whole leaderboard gives one line for all that is not ours."""
    write_pages("org/model")
    for task in ("STS12", "ArguAna", "SciFact"):
        entry = {"hf_subset": "default", "languages": ["eng-Latn"], "main_score": 0.5}
        result = task_result_class(
            dataset_revision="r", task_name=task, mteb_version="2.0",
            scores={"test": [entry]}, evaluation_time=1,
        )  # fmt: skip
        result.to_disk(tmp_path / f"{task}.json")
    _one_problem(read_results([tmp_path]), "3 files of other tasks", "SciFact); --task NAME")
    asked = read_results([tmp_path], tasks=["NanoViDoReV3"])
    _one_problem(asked, "3 files of other tasks", "ArguAna, STS12, SciFact")
    assert "--task" not in asked.problems[0]
    with pytest.raises(UserError, match=r"no usable result of NoSuch; there are .*SciFact"):
        read_results([tmp_path], tasks=["NoSuch"])


def test_duplicates_are_told(write_pages, tmp_path):
    """The same model twice: told, with whether the scores agree; the first in path order counts."""
    write_pages("org/model", root=tmp_path / "a")
    write_pages("org/model", root=tmp_path / "b")
    _one_problem(read_results([tmp_path]), "org/model", "the same scores")
    shutil.rmtree(tmp_path / "b")
    write_pages("org/model", 0.3, root=tmp_path / "b")
    reading = read_results([tmp_path])
    _one_problem(reading, "DIFFERENT scores; the first is used")
    assert "/a/" in str(reading.results[0].path)
    # Naming a file twice is no duplicate.
    assert not read_results([tmp_path / "a", tmp_path / "a"]).problems


def test_symlink_loops_end(write_pages, tmp_path):
    """A folder that links to its parent is walked once; a dangling link is told."""
    write_pages("org/model")
    (tmp_path / "results" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "results" / "self.json").symlink_to(tmp_path / "results" / "self.json")
    reading = read_results([tmp_path])
    assert len(reading.results) == 1
    _one_problem(reading, "self.json", "cannot be read")


def test_a_repository_inside_is_not_walked(write_pages, tmp_path):
    """The clone that mteb's submission makes beside the results holds other people's results."""
    write_pages("org/mine")
    write_pages("org/theirs", root=tmp_path / "remote" / "results")
    (tmp_path / "remote" / ".git").mkdir()
    assert [r.model for r in read_results([tmp_path]).results] == ["org/mine"]
    assert [r.model for r in read_results([tmp_path / "remote"]).results] == ["org/theirs"]


def test_nothing_usable_is_an_error(tmp_path):
    """A folder without results, a missing path, an empty file: one error that helps."""
    with pytest.raises(UserError, match="expected mteb's layout"):
        read_results([tmp_path])
    with pytest.raises(UserError, match="no such file or folder"):
        read_results([tmp_path / "nowhere"])
    (tmp_path / "empty.json").touch()
    with pytest.raises(UserError, match=r"empty\.json: broken"):
        read_results([tmp_path])


@pytest.mark.parametrize(
    "content",
    [
        "[]", "null", "1", '{"task_name": "T"}', '{"task_name": 3, "scores": {}}',
        '{"task_name": "T", "scores": {}}', '{"task_name": "T", "scores": {"test": {}}}',
        '{"task_name": "T", "scores": {"test": [1]}}',
        '{"task_name": "T", "scores": {"test": [{}]}}',
        '{"task_name": "T", "scores": {"test": [{"hf_subset": "a", "ndcg_at_10": [1]}]}}',
        '{"task_name": "T", "scores": [' + "[" * 100_000,
        '{"a": ' + "9" * 5000 + "}",
        "\udcff\udcfe",
    ],
)  # fmt: skip
def test_any_other_json_is_one_clear_line(tmp_path, content):
    """Whatever JSON (or bytes) a file holds, the answer is a UserError that names the file."""
    path = tmp_path / "x.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError, match=r"x\.json"):
        read_results([path])


def test_names_cannot_drive_the_terminal(write_pages):
    """Control characters in a model's name are replaced; unicode and length are kept."""
    path = write_pages("org/m\x1b[31m\u202eodel\n" + "\N{SNOWMAN}" * 3)
    name = read_results([path]).results[0].model
    assert name.isprintable()
    assert name.endswith("\N{SNOWMAN}" * 3)


def test_lone_surrogates_cannot_reach_the_output(write_pages, tmp_path):
    """JSON can hold half a character in any name; the report can still be written as UTF-8."""
    path = write_pages("org/model", task="Own")
    text = path.read_text()
    for name in ("hr-3", '"hr"', "org/model", "Own", "lang_fra", "format_keyword"):
        text = text.replace(name, name[:-1] + "\\udcff" + name[-1:])
    path.write_text(text)
    assert "\\udcff" in text
    out = tmp_path / "out.json"
    assert main(["report", str(path), "--json", "--resamples", "100", "--out", str(out)]) == 0
    assert main(["report", str(path), "--out", str(out), "--resamples", "100"]) == 0
    assert "\N{REPLACEMENT CHARACTER}" in out.read_text(encoding="utf-8")


@pytest.mark.slow
def test_ten_thousand_files(write_pages, tmp_path):
    """10,000 files (1,000 results and 9,000 that are none) are read in one go, none lost."""
    path = write_pages("org/model")
    text = path.read_text(encoding="utf-8")
    small = json.loads(text)
    for entry in small["scores"]["test"]:
        entry["per_query"] = {"ndcg_at_10": {}}
    content = json.dumps(small)
    for i in range(999):
        folder = tmp_path / "results" / f"org__m{i}" / "main"
        folder.mkdir(parents=True)
        (folder / "NanoViDoReV3.json").write_text(content)
    for i in range(9000):
        (tmp_path / f"other{i}.json").write_text("{}")
    reading = read_results([tmp_path])
    assert len(reading.results) == 1000
    assert len(reading.problems) == 9000


def test_an_unreadable_folder_is_told(write_pages, tmp_path, monkeypatch):
    """A folder that cannot be listed costs one line; the rest is read."""
    write_pages("org/model")
    locked = tmp_path / "locked"
    locked.mkdir()
    real = os.scandir

    def scandir(path):
        # root may list anything, so the refusal has to be played
        if str(path) == str(locked):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    reading = read_results([tmp_path])
    assert len(reading.results) == 1
    _one_problem(reading, "locked", "Permission denied")
