"""Whatever a result file holds, every command gives a report or one clear error."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mteb_nano.errors import UserError
from mteb_nano.report.boards import make_boards
from mteb_nano.report.compare import compare_all
from mteb_nano.report.estimates import Resampling
from mteb_nano.report.leaderboard import html_table
from mteb_nano.report.reading import read_results
from mteb_nano.report.render import to_csv, to_json, to_markdown, to_text
from mteb_nano.report.submission import check_candidate, find_candidates
from mteb_nano.report.tables import make_tables

FEW = Resampling(n_resamples=100)
# Lone surrogates too: JSON can hold them, and no file or terminal can be written with them.
TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner),
    max_leaves=5,
)


def _places(value, place=()):
    """Yield the place of every value in a JSON document."""
    yield place
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
    else:
        inner = ()
    for key, child in inner:
        yield from _places(child, (*place, key))


def _replace(value, place, new):
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = _replace(copy[place[0]], place[1:], new)
    return copy


def _use(paths):
    """Do with the files what the commands do."""
    reading = read_results(paths)
    boards = make_boards(reading.results)
    tables = [table for board in boards for table in make_tables(board, resampling=FEW)]
    document = to_json(boards, reading.problems, resampling=FEW)
    json.loads(document)
    texts = [to_text(tables), to_markdown(tables), to_csv(boards, resampling=FEW), document]
    texts += [str(html_table(table)) for table in tables]
    for text in texts:
        text.encode()
    for board in boards:
        if len(board.results) > 1:
            compare_all(board, labels=board.labels(), resampling=FEW)


def _check(path):
    for candidate in find_candidates([path])[0]:
        check_candidate(candidate, known_models={})


def _error(function, argument):
    """Return the message of a UserError; anything else that is raised fails the test."""
    try:
        function(argument)
    except UserError as error:
        return str(error)
    return None


@pytest.fixture(scope="module")
def document():
    """A small whole result: two sources, two queries each."""
    scores = {
        "ndcg_at_10": 0.5, "mrr_at_10": 0.5, "recall_at_100": 0.5, "main_score": 0.5,
        "ndcg_at_10_lang_fra": 0.5, "ndcg_at_10_format_keyword": 0.5, "languages": ["fra-Latn"],
        "per_query": {"ndcg_at_10": {"a": 0.25, "b": 0.75}, "mrr_at_10": {"a": 0.25, "b": 0.75}},
    }  # fmt: skip
    return {
        "task_name": "NanoViDoReV3", "dataset_revision": "a" * 40, "mteb_version": "2.26.24",
        "evaluation_time": 1.5,
        "scores": {"test": [{**scores, "hf_subset": name} for name in ("hr", "energy")]},
    }  # fmt: skip


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_value_anywhere(document, tmp_path, data):
    """One value of a result replaced by any JSON, or NaN: a report or a UserError."""
    place = data.draw(st.sampled_from(list(_places(document))))
    broken = _replace(document, place, data.draw(ANY_JSON))
    folder = tmp_path / "results" / "org__broken" / "1"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "NanoViDoReV3.json"
    path.write_text(json.dumps(broken))
    good = tmp_path / "results" / "org__good" / "1" / "NanoViDoReV3.json"
    good.parent.mkdir(parents=True, exist_ok=True)
    good.write_text(json.dumps(document))
    for files in ([path], [good, path]):
        error = _error(_use, files)
        assert error is None or "NanoViDoReV3" in error or "org/" in error
    _error(_check, path)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.integers(0, 10_000), noise=st.binary(max_size=4))
def test_any_bytes(document, tmp_path, cut, noise):
    """A file cut anywhere, with any bytes behind the cut: a report or a UserError."""
    content = json.dumps(document).encode()
    path = tmp_path / "NanoViDoReV3.json"
    path.write_bytes(content[: cut % (len(content) + 1)] + noise)
    error = _error(_use, [path])
    assert error is None or "NanoViDoReV3.json" in error
