import errno
import hashlib
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from builders import engine
from builders.engine import Shard, run_shards, shard_path
from mteb_nano.errors import UserError
from tests import builders_engine_work as works

TESTS = Path(__file__).parent


def shards(payloads) -> list[Shard]:
    return [Shard(hashlib.sha256(str(p).encode()).hexdigest(), p) for p in payloads]


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def run(work, payloads, folder, **options):
    return dict(run_shards(work, shards(payloads), folder, **options))


LETTERS = tuple("abcdefghijkl")


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("expected")
    run(works.shout, LETTERS, folder)
    return files(folder)


@pytest.mark.parametrize("workers", [2, 3])
def test_any_number_of_workers_makes_the_same_files(tmp_path, expected, workers):
    """The files depend on the shards alone."""
    done = run(works.shout, LETTERS, tmp_path, workers=workers)
    assert files(tmp_path) == expected
    assert len(expected) == len(done) == len(LETTERS)


def test_finished_shards_are_not_done_again(tmp_path):
    """What has a file is skipped, and reported without content."""
    log = tmp_path / "log"
    payloads = [(str(log), letter) for letter in LETTERS]
    run(works.note, payloads[:5], tmp_path / "out")
    done = run(works.note, payloads, tmp_path / "out")
    assert sorted(log.read_text().split()) == sorted(LETTERS)
    assert sum(content is None for content in done.values()) == 5


def test_equal_shards_are_done_once(tmp_path):
    """A key that comes twice in one run is one file and one piece of work."""
    log = tmp_path / "log"
    run(works.note, [(str(log), "a")] * 4, tmp_path / "out")
    assert log.read_text() == "a\n"


def test_shards_are_taken_as_workers_become_free(tmp_path):
    """A list longer than memory works: only a few shards are in flight."""
    taken = 0

    def endless():
        nonlocal taken
        for shard in shards(range(1000)):
            taken += 1
            yield Shard(shard.key, str(shard.payload))

    results = run_shards(works.shout, endless(), tmp_path, workers=2)
    next(results)
    assert taken <= 2 * engine.WAITING_PER_WORKER + 1
    results.close()


def test_a_killed_workers_shard_is_done_again(tmp_path, expected):
    """SIGKILL, as the system does when memory is short, costs time and nothing else."""
    payloads = [(str(tmp_path), letter) for letter in (*LETTERS, "x!", "y!")]
    run(works.die_once, payloads, tmp_path / "out", workers=2)
    found = set(files(tmp_path / "out").values())
    assert found == set(expected.values()) | {b"X!" * 100, b"Y!" * 100}


def test_a_shard_that_kills_every_worker_is_reported(tmp_path):
    """After three tries the run ends with a message, not in a loop."""
    with pytest.raises(UserError, match=r"died 3 times.*fewer --workers"):
        run(works.die_always, ["a"], tmp_path, workers=2)


def test_a_workers_error_for_people_reaches_them(tmp_path):
    """The message comes through the process boundary as it is."""
    with pytest.raises(UserError, match=r"cannot do [ab]"):
        run(works.complain, ["a", "b"], tmp_path, workers=2)
    assert files(tmp_path) == {}


def test_a_full_disk_is_a_message_and_keeps_what_is_there(tmp_path, monkeypatch):
    """Real ENOSPC is tried with the command; here the third file fails."""
    flushed = []

    def flush(number):
        if len(flushed) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flushed.append(number)

    monkeypatch.setattr(os, "fsync", flush)
    with pytest.raises(
        UserError, match=r"No space left.*free some space.*what is finished is kept"
    ):
        run(works.shout, LETTERS, tmp_path)
    assert len(files(tmp_path)) == 2


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    """A file in the folder's place."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file.*cannot be written"):
        run(works.shout, LETTERS, tmp_path / "file")


def test_results_are_whole_files_or_none(tmp_path):
    """No file of another name is left beside the results."""
    run(works.shout, LETTERS, tmp_path)
    keys = {shard.key for shard in shards(LETTERS)}
    assert {p.name for p in tmp_path.rglob("*") if p.is_file()} == {f"{key}.json" for key in keys}
    assert all(shard_path(tmp_path, key).is_file() for key in keys)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(tmp_path, how):
    """However the parent ends, no worker stays behind."""
    code = (
        "import sys; from tests import builders_engine_work as w; from builders.engine import *\n"
        "if __name__ == '__main__':\n"
        "    list(run_shards(w.nap, [Shard(f'{n:08d}', (sys.argv[1], 60)) for n in range(4)],"
        " Path(sys.argv[1]) / 'out', workers=2))\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    pids = tmp_path / "pids"
    pids.mkdir()
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    process = subprocess.Popen(
        [sys.executable, str(script), str(pids)],
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.DEVNULL,
    )
    workers = _wait(lambda: [int(p.name) for p in pids.iterdir() if p.name.isdigit()], n=2)
    process.send_signal(how)
    process.wait(timeout=20)
    deadline = time.monotonic() + 20
    while any(_alive(pid) for pid in workers):
        assert time.monotonic() < deadline, "workers outlived their parent"
        time.sleep(0.05)


def _wait(look, *, n):
    deadline = time.monotonic() + 60
    while len(found := look()) < n:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def _alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
def test_ray_makes_the_same_files_and_does_a_killed_workers_shard_again(tmp_path, expected):
    """A real local Ray: same bytes, also when two workers are killed, and errors come through."""
    pytest.importorskip("ray", reason="needs the extra `ray`")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")]
    )
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        payloads = [(str(tmp_path), letter) for letter in (*LETTERS, "x!", "y!")]
        run(works.die_once, payloads, tmp_path / "out", workers=2, engine="ray")
        found = set(files(tmp_path / "out").values())
        assert found == set(expected.values()) | {b"X!" * 100, b"Y!" * 100}
        with pytest.raises(UserError, match="cannot do a"):
            run(works.complain, ["a"], tmp_path / "other", engine="ray")
        with pytest.raises(UserError, match="died 3 times"):
            run(works.die_always, ["a"], tmp_path / "other", engine="ray")
    finally:
        ray.shutdown()
