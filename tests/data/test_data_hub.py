"""Datasets come from the Hub, from its cache, or from what is put in their place.

The real client asks a server on this machine, in a process of its own, because it reads its
variables when it is imported.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mteb_nano import catalog, locate
from mteb_nano.errors import UserError
from tests import generate
from tests.data.hub_server import hub
from tests.generate import COMMIT

ROW = catalog.OCR_MLDR
# Asks for each place in turn: the revision that a result records, and the folder that is read.
_ASK = """
import json, os, sys
from mteb_nano import catalog, locate
from mteb_nano.errors import UserError
row, answers = catalog.OCR_MLDR, []
for place in json.loads(sys.argv[1]):
    os.environ[row.variable] = place
    try:
        answers.append([locate.revision_of(row), str(locate.fetch(row, json.loads(sys.argv[2])))])
    except UserError as error:
        answers.append(str(error))
print(json.dumps(answers))
"""


def ask(places, cache, *, endpoint="http://127.0.0.1:9", offline=False, patterns=None):
    """Return [revision, folder] of each place, or the line of its error."""
    env = {
        **{k: v for k, v in os.environ.items() if not k.startswith("HF_")},
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(cache / "home"),
        "HF_HUB_CACHE": str(cache),
        "HF_HUB_OFFLINE": str(int(offline)),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    command = [sys.executable, "-c", _ASK, json.dumps(places), json.dumps(patterns)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """Return what the repositories hold."""
    folder = tmp_path_factory.mktemp("content") / "d"
    rows = generate.text_rows(("de", "en"), ("dpi120_font10",))
    return generate.write(folder, rows, manifest=None, file="data/" + generate.FILE)


def test_a_repository_is_fetched_and_its_commit_recorded(content, tmp_path):
    """The published id gives the bare commit, another one its name too, a pin what it says."""
    with hub(content) as (endpoint, requests):
        answers = ask(
            ["Psychias/ocr-mldr", "org/copy", f"org/copy@{COMMIT}", f"Psychias/ocr-mldr@{COMMIT}"],
            tmp_path,
            endpoint=endpoint,
        )
    assert [answer[0] for answer in answers] == [
        COMMIT,
        f"org/copy@{COMMIT}",
        f"org/copy@{COMMIT}",
        COMMIT,
    ]
    read = Path(answers[1][1])
    assert sorted(p.name for p in read.glob("data/*")) == sorted(
        p.name for p in content.glob("data/*")
    )
    gets = [line for line in requests if line.startswith("GET") and "resolve" in line]
    assert len(gets) == len(set(gets))  # each file once, though asked for twice


def test_only_what_is_needed_is_fetched(content, tmp_path):
    """A run of German downloads no English."""
    with hub(content) as (endpoint, _):
        ((_, folder),) = ask(
            ["org/copy"], tmp_path, endpoint=endpoint, patterns=["*de_dpi120_font10_*"]
        )
    assert len(list(Path(folder).glob("data/de_*"))) == 3
    assert not list(Path(folder).glob("data/en_*"))
    assert (Path(folder) / "README.md").is_file()


def test_what_the_hub_refuses_is_one_line_that_says_what_to_do(content, tmp_path):
    """Gated, unknown, private, no such revision, a server that fails: the client's real errors."""
    with hub(content) as (endpoint, _):
        answers = ask(
            ["org/gated", "org/gone", "org/private", "org/copy@v9", "org/copy@4f1c2ab", "org/down"],
            tmp_path,
            endpoint=endpoint,
        )
    words = [
        "is gated: accept its terms on its page, then `hf auth login`",
        "is no folder here, is not known to the Hub, or is private",
        "is no folder here, is not known to the Hub, or is private",
        "has no such revision: give a branch, a tag or a full commit",
        "has no such revision: give a branch, a tag or a full commit",
        "cannot be fetched (HfHubHTTPError",
    ]
    for answer, expected in zip(answers, words, strict=True):
        assert isinstance(answer, str), answer
        assert expected in answer
        assert "\n" not in answer


def test_without_a_connection_the_cache_is_read(content, tmp_path):
    """Cached once, a repository loads offline, by branch and pin, and with the Hub out of reach."""
    generate.hub_cache(tmp_path, content, "org/copy")
    answers = ask(["org/copy", f"org/copy@{COMMIT}"], tmp_path, offline=True)
    answers += ask(["org/copy"], tmp_path)
    assert [answer[0] for answer in answers] == [f"org/copy@{COMMIT}"] * 3
    assert all(answer[1].endswith(f"snapshots/{COMMIT}") for answer in answers)


def test_what_is_not_cached_is_one_line_that_says_what_to_do(tmp_path):
    """Offline, the variable is named; out of reach, a connection or a local copy is asked for."""
    (offline,) = ask(["Psychias/ocr-mldr"], tmp_path, offline=True)
    assert "is not in the local cache, and HF_HUB_OFFLINE keeps the Hub from being asked" in offline
    (pinned,) = ask([f"org/copy@{COMMIT}"], tmp_path, offline=True)
    (away,) = ask(["Psychias/ocr-mldr"], tmp_path)
    for line in (offline, away, pinned):
        assert "put a local copy in its place (mteb-nano data --help)" in line
        assert "\n" not in line


@pytest.mark.parametrize(
    "value",
    ["/no/such/folder", "./nothing", "word", "a b", "~nobody-at-all/x", "x" * 5000, "a--b/../c"],
)
def test_a_place_that_is_none_is_one_line(monkeypatch, value):
    """Neither a folder nor a repository's name: the variable and what it may hold are named."""
    monkeypatch.setenv(ROW.variable, value)
    with pytest.raises(UserError) as caught:
        locate.place_of(ROW)
    assert ROW.variable in str(caught.value)
    assert "expected an existing folder or a Hub repository" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_name_that_the_hub_would_not_take_is_one_line(tmp_path):
    """What looks like org/name may still be none."""
    (line,) = ask(["-a..b/c--d"], tmp_path, offline=True)
    assert "is neither a folder nor a repository's name" in line


def test_a_snapshot_folder_is_its_commit(content, tmp_path, monkeypatch):
    """A path into the Hub's cache says which repository and commit it is."""
    for repository, revision in [
        ("Psychias/ocr-mldr", COMMIT),
        ("org/copy", f"org/copy@{COMMIT}"),
    ]:
        snapshot = generate.hub_cache(tmp_path, content, repository)
        monkeypatch.setenv(ROW.variable, str(snapshot))
        assert locate.revision_of(ROW) == revision


def test_a_folder_that_only_looks_like_a_snapshot_is_local(content, tmp_path, monkeypatch):
    """`snapshots/<commit>` outside of a cache proves nothing: its content is hashed."""
    import shutil

    folder = tmp_path / "snapshots" / COMMIT
    shutil.copytree(content, folder)
    monkeypatch.setenv(ROW.variable, str(folder))
    assert locate.revision_of(ROW).startswith("local-")


def test_a_folder_put_in_place_is_local_and_follows_its_content(tmp_path, monkeypatch):
    """`local-` and 12 hex digits, others as soon as the data are others."""
    folder = generate.texts(tmp_path / "t", languages=("de",))
    monkeypatch.setenv(ROW.variable, str(folder))
    before = locate.revision_of(ROW)
    assert len(before) == len("local-") + 12
    (folder / "manifest.json").unlink()
    without = locate.revision_of(ROW)
    path = folder / "data/de_dpi120_font10_qrels/test-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes() + b" ")
    assert len({before, without, locate.revision_of(ROW)}) == 3


def test_a_lost_folder_is_one_line(tmp_path):
    """A dataset folder that was moved away after its task was made."""
    from dataclasses import replace

    row = replace(ROW, hub_id=None, folder=tmp_path / "gone", name="Other")
    with pytest.raises(UserError, match="expected a dataset folder, found nothing there"):
        locate.fetch(row)
