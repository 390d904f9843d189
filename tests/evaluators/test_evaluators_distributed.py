"""Two real processes that talk over gloo."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run_both(script, *args):
    """Run the script once for each rank, at the same time; both must end well."""
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), *map(str, args)],
            env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    try:
        errors = [rank.communicate(timeout=600)[1] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0, 0], errors


@pytest.fixture(scope="module")
def answers(pages, bert, tmp_path_factory):
    """Return the folder of what both ranks wrote down, for every case."""
    out = tmp_path_factory.mktemp("ranks")
    run_both(Path(__file__).with_name("two_ranks.py"), pages, bert, out)
    return out


def of_both(folder):
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in (0, 1)]


def test_rank_0_evaluates_for_both(answers):
    """Rank 0 alone encodes and writes; rank 1 gets the same numbers."""
    first, second = of_both(answers / "plain")
    assert first["calls"] >= 1
    assert second["calls"] == 0
    assert first["metrics"] == second["metrics"]
    assert len((answers / "plain" / "per_query.jsonl").read_text().splitlines()) == 8


def test_an_error_reaches_both(answers):
    """NaN embeddings on rank 0: both ranks raise, none waits for ever, nothing is written."""
    for answer in of_both(answers / "nan"):
        assert "p0, p1" in answer["error"]
    assert not (answers / "nan" / "per_query.jsonl").exists()


def test_a_sharded_model_gets_every_rank(answers):
    """A model whose forward pass needs both ranks (FSDP2) is run by both, and written once."""
    first, second = of_both(answers / "sharded")
    assert first["calls"] == second["calls"] >= 1
    for metrics in (first["metrics"], second["metrics"]):
        metrics.pop("SmallPagesMarkdown_seconds")
    assert first["metrics"] == second["metrics"]
    assert len((answers / "sharded" / "per_query.jsonl").read_text().splitlines()) == 8


def test_the_trainer_of_sentence_transformers(answers):
    """Under its trainer, which calls rank 0 and broadcasts itself, all ranks log each score."""
    first, second = of_both(answers / "trainer")
    assert len(first["scores"]) == 2
    assert first["scores"] == second["scores"]
