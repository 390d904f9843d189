"""Candidate lists: positives out, ties by id, bad scores refused, broken files seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.vidore.candidates import load_candidates, rank_candidates, save_candidates
from builders.vidore.sources import read_source
from mteb_nano.errors import UserError
from tests.vidore.universe import make_rows, write_source


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = write_source(tmp_path_factory.mktemp("s") / "made", make_rows(1, n_pages=12))
    return read_source("made", folder, origin="made")


def test_by_hand(source):
    """Query 0's positives are left out; equal scores go by id, 2 before 10."""
    positives = set(source.qrels["0"])
    scores = np.zeros((1, 12))
    scores[0, 5] = 3.0
    lists = rank_candidates(source, ["0"], scores, top_k=20, miner="m")
    others = [str(i) for i in range(12) if str(i) not in positives and i != 5]
    expected = (["5"] if "5" not in positives else []) + others
    assert [page for page, _ in lists["0"]] == expected


@given(
    scores=st.lists(st.sampled_from([0.0, 0.5, -1.0, 2.0]), min_size=12, max_size=12),
    k=st.integers(1, 12),
)
def test_ranking_is_the_sorted_definition(source, scores, k):
    """The list is the pages sorted by (score down, id up) without the positives, cut at top_k."""
    lists = rank_candidates(source, ["3"], np.array([scores]), top_k=k, miner="m")
    ranked = sorted(range(12), key=lambda i: (-scores[i], i))
    assert [int(p) for p, _ in lists["3"]] == [
        i for i in ranked if str(i) not in source.qrels["3"]
    ][:k]
    assert [s for _, s in lists["3"]] == [scores[int(p)] for p, _ in lists["3"]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers(source, bad):
    """A score that is not finite is an error with model, source, query and page; not a ranking."""
    scores = np.zeros((2, 12))
    scores[1, 4] = bad
    with pytest.raises(UserError, match=r"model-x: 1 scores in made .* query 1 and page 4"):
        rank_candidates(source, ["0", "1"], scores, top_k=3, miner="model-x")


def test_file_round_trip_and_damage(tmp_path, source):
    """A saved list comes back whole; with any byte of its data changed or cut off it does not."""
    path = tmp_path / "made.parquet"
    scores = np.arange(12.0)[None]
    lists = rank_candidates(source, ["0"], scores, top_k=5, miner="m")
    made_from = {"query_ids": ["0"], "top_k": 5}
    save_candidates(path, lists, made_from)
    assert load_candidates(path) == (lists, made_from)

    content = path.read_bytes()
    for broken in (
        content[: len(content) // 2],
        content[:40] + bytes([content[40] ^ 1]) + content[41:],
        b"",
    ):
        path.write_bytes(broken)
        assert load_candidates(path) is None
    path.unlink()
    assert load_candidates(path) is None
