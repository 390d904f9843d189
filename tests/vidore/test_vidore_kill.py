"""Killed anywhere, the same command goes on and ends with the same bytes."""

import signal
import subprocess
import sys
import time

import pytest

from tests.vidore.universe import make_rows, write_source


@pytest.mark.slow
def test_killed_three_times(tiny_colqwen, tmp_path, subprocess_env):
    """SIGKILL after the first shard, after the first candidates, and while the dataset is written.

    Finished files are still there afterwards, byte for byte, nothing half-written is in their
    place, and the last run gives what a run without a break gives.
    """
    rows = {name: make_rows(seed, n_pages=20, n_groups=4) for seed, name in enumerate("ab")}
    places = [str(write_source(tmp_path / name, content)) for name, content in rows.items()]
    command = [
        *(sys.executable, "-m", "builders.vidore", "--sources", *places),
        *("--miner", str(tiny_colqwen), "--queries-per-source", "all", "--pool-size", "26"),
        *("--name", "Made", "--quiet", "--shard-pages", "4", "--batch-size", "1"),
    ]
    work, out = tmp_path / "out.work", tmp_path / "out"
    moments = [
        lambda: next(work.glob("embeddings/pages-*"), None),
        lambda: next(work.glob("candidates/*.parquet"), None),
        lambda: next(tmp_path.glob(".out.partial*"), None) or out.exists(),
    ]
    kept: dict[str, bytes] = {}
    for moment in moments:
        kill_at(moment, [*command, "--out", str(out)], subprocess_env)
        found = tree(work)
        assert {name: found[name] for name in kept} == kept
        kept = {name: content for name, content in found.items() if ".partial" not in name}
    if not out.exists():
        run([*command, "--out", str(out)], subprocess_env)
    run([*command, "--out", str(tmp_path / "straight")], subprocess_env)
    assert tree(out) == tree(tmp_path / "straight")
    assert not list(tmp_path.glob(".out*"))


def kill_at(moment, command, env):
    """Start the command, and kill it as soon as the moment has come; it may also just end."""
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not moment():
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)


def run(command, env):
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
