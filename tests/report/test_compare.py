"""Paired comparison: what it says, what it refuses, and where its scores come from."""

import json

import numpy as np
import pytest
from scipy import stats

from mteb_nano.errors import UserError
from mteb_nano.report.__main__ import main
from mteb_nano.report.boards import make_boards
from mteb_nano.report.compare import compare_all, comparison_tables, verdict
from mteb_nano.report.estimates import Resampling
from mteb_nano.report.evaluator_files import read_evaluator_file, split_step
from mteb_nano.report.reading import read_results
from tests.report.result_files import SOURCES, subset_scores

FEW = Resampling(n_resamples=2000)


def _board(*paths):
    return make_boards(read_results(paths).results)[0]


def _compare(board, **options):
    return compare_all(board, labels=board.labels(), resampling=FEW, **options)


def _shift_scores(path, change):
    """Change per-query nDCG@10 of one file and keep its aggregates true."""
    data = json.loads(path.read_text())
    for entry in data["scores"]["test"]:
        values = entry["per_query"]["ndcg_at_10"]
        for i, (query, score) in enumerate(values.items()):
            values[query] = round(float(np.clip(change(entry["hf_subset"], i, score), 0, 1)), 6)
        entry["ndcg_at_10"] = round(float(np.mean(list(values.values()))), 5)
    path.write_text(json.dumps(data))


def test_a_planted_improvement_is_found(write_pages, tmp_path):
    """B gains 0.05 on every query below 0.95: all figures of the difference follow by hand."""
    write_pages("org/a", seed=1)
    better = write_pages("org/b", seed=1)
    _shift_scores(better, lambda _, __, score: score + 0.05 if score < 0.95 else score)
    pair = _compare(_board(tmp_path))[0]
    a, b = (
        np.array([list(s.per_query["ndcg_at_10"].values()) for s in r.subsets.values()])
        for r in _board(tmp_path).results
    )
    diff = (b - a).ravel()
    assert pair.overall.difference.value == pytest.approx(diff.mean(), abs=1e-9)
    assert (pair.overall.wins, pair.overall.losses) == ((diff > 0).sum(), 0)
    assert pair.overall.p_value < 0.001
    low = pair.overall.difference.low
    assert low is not None
    assert low > 0
    # All sources have 50 queries, so the p-value can be held against SciPy's t-test.
    assert stats.ttest_1samp(diff, 0).pvalue < 0.001
    assert verdict(pair).startswith("org/b is better")


def test_moved_queries_are_the_largest_moves(write_pages, tmp_path):
    """Three planted moves are listed first, largest first, with source and both scores."""
    write_pages("org/a", seed=1)
    moved = write_pages("org/b", seed=1)
    planted = {("hr", 3): 0.0, ("energy", 7): 1.0, ("physics", 0): 0.5}
    _shift_scores(moved, lambda source, i, score: planted.get((source, i), score))
    pair = _compare(_board(tmp_path))[0]
    assert {(m.stratum, m.query) for m in pair.moved} == {
        ("hr", "hr-3"), ("energy", "energy-7"), ("physics", "physics-0"),
    }  # fmt: skip
    sizes = [abs(m.second - m.first) for m in pair.moved]
    assert sizes == sorted(sizes, reverse=True)
    assert pair.overall.ties == 397


def test_three_systems_are_corrected_for_their_number(write_pages, tmp_path):
    """Three systems are three pairs, and no adjusted p-value is below its raw one."""
    for seed, name in enumerate("abc"):
        write_pages(f"org/{name}", seed=seed)
    pairs = _compare(_board(tmp_path))
    assert [(p.first, p.second) for p in pairs] == [
        ("org/a", "org/b"), ("org/a", "org/c"), ("org/b", "org/c"),
    ]  # fmt: skip
    adjusted = [p.adjusted_p_value or 0 for p in pairs]
    assert all(a >= p.overall.p_value for a, p in zip(adjusted, pairs, strict=True))
    assert min(adjusted) == pytest.approx(min(1, 3 * min(p.overall.p_value for p in pairs)))


def test_equal_systems_are_not_called_better(write_pages, tmp_path):
    """Without a difference the verdict says how large one would have to be."""
    write_pages("org/a", seed=1)
    close = write_pages("org/b", seed=1)
    _shift_scores(close, lambda _, i, score: score + (0.02 if i % 2 else -0.02))
    sentence = verdict(_compare(_board(tmp_path))[0])
    assert sentence.startswith("No difference between org/a and org/b is shown")
    assert "find differences from" in sentence


def test_other_data_is_refused(write_pages, tmp_path, capsys):
    """Two revisions of the data are never paired: one message that names both, exit code 2."""
    write_pages("org/a")
    write_pages("org/b", data_revision="b" * 40)
    assert main(["compare", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert "the data differ" in message
    assert "a" * 40 in message
    assert "b" * 40 in message


def test_other_queries_are_refused(write_pages, tmp_path):
    """The same revision but other query ids cannot be the same data, whatever the file says."""
    write_pages("org/a")
    path = write_pages("org/b")
    path.write_text(path.read_text().replace('"hr-3"', '"hr-99"'))
    with pytest.raises(UserError, match=r"hr: not the same queries.*hr-3.*hr-99"):
        _compare(_board(tmp_path))


def test_missing_subsets_and_scores_are_refused(write_pages, tmp_path):
    """A partial result and one without per-query scores: told, with what to do."""
    write_pages("org/a")
    write_pages("org/b", sources=SOURCES[:7])
    with pytest.raises(UserError, match="org/b lacks subsets that others have: physics"):
        _compare(_board(tmp_path))
    assert len(_compare(_board(tmp_path), subset_patterns=["hr", "energy"])[0].strata) == 2
    with pytest.raises(UserError, match="no subset matches nothing"):
        _compare(_board(tmp_path), subset_patterns=["nothing"])
    path = write_pages("org/b")
    path.write_text(path.read_text().replace('"per_query"', '"other"'))
    with pytest.raises(UserError, match="no usable per-query"):
        _compare(_board(tmp_path))


def test_one_system_cannot_be_compared(write_pages, tmp_path, capsys):
    """A single result is refused with what was found."""
    write_pages("org/a")
    assert main(["compare", str(tmp_path)]) == 2
    assert "found: org/a on NanoViDoReV3" in capsys.readouterr().err


def test_two_runs_of_one_model_in_the_order_given(write_pages, tmp_path, capsys):
    """One model from two folders is compared, labelled by path; A is the first argument."""
    old = write_pages("org/a", seed=1, root=tmp_path / "zz_old")
    new = write_pages("org/a", seed=2, root=tmp_path / "aa_new")
    assert main(["compare", str(old), str(new), "--json", "--resamples", "100"]) == 0
    pair = json.loads(capsys.readouterr().out)[0]["pairs"][0]
    assert str(old) in pair["first"]
    assert str(new) in pair["second"]
    assert main(["compare", str(old), str(old)]) == 2


def _evaluator_file(path, steps, *, gain=0.01, model="org/tuned", **changes):
    rng = np.random.default_rng(0)
    base = {s: rng.random(10) * 0.8 for s in ("hr", "physics")}
    lines = [
        {
            "task": "NanoViDoReV3", "data_revision": "a" * 40, "subset": source,
            "query_id": f"q{i}", "metric": "ndcg_at_10", "score": score + gain * step,
            "model": model, "step": step,
            **changes,
        }
        for step in steps
        for source, scores in base.items()
        for i, score in enumerate(scores)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_two_checkpoints_of_one_evaluator_file(tmp_path, capsys):
    """`file@step` picks checkpoints; scores are raw, and the output says so."""
    path = _evaluator_file(tmp_path / "per_query.jsonl", [0, 5, 10])
    assert main(["compare", f"{path}@5", f"{path}@10", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)[0]
    pair = document["pairs"][0]
    assert (pair["first"], pair["second"]) == ("org/tuned step 5", "org/tuned step 10")
    assert pair["overall"]["difference"]["value"] == pytest.approx(0.05)
    assert document["rounded"] == [False]
    assert main(["compare", str(path), "--markdown"]) == 0
    text = capsys.readouterr().out
    assert "step 0" in text
    assert "step 10" in text
    assert "from evaluator files, not rounded" in text


def test_an_evaluator_file_against_a_result_file(tmp_path, write_result):
    """Both kinds of files meet when task, data and queries are the same; the note names both."""
    path = _evaluator_file(tmp_path / "per_query.jsonl", [0])
    rng = np.random.default_rng(0)
    queries = [f"q{i}" for i in range(10)]
    subsets = {
        s: subset_scores((rng.random(10) * 0.8).round(6), queries) for s in ("hr", "physics")
    }
    results = [
        *read_evaluator_file(path),
        *read_results([write_result("org/m", "NanoViDoReV3", subsets)]).results,
    ]
    board = make_boards(results)[0]
    pair = _compare(board)[0]
    assert pair.overall.difference.value == pytest.approx(0, abs=1e-6)
    assert pair.overall.ties == 20  # rounding to 6 digits makes no wins and losses
    notes = comparison_tables(board, [pair], metric="ndcg_at_10")[0].notes
    assert "rounded to 6 digits, those from evaluators are raw" in notes[-1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 1: no JSON"),
        ("[]", "line 1: expected an object"),
        ('{"task": "T"}', "data_revision, subset, query_id, metric, model, score, step"),
    ],
)
def test_bad_evaluator_lines_are_named(tmp_path, line, words):
    """A line that is not as expected is named by its number and its fields."""
    path = tmp_path / "per_query.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UserError, match=words):
        read_evaluator_file(path)


def test_what_the_evaluators_write_is_read(tmp_path, capsys):
    """The evaluators' own writer and this reader agree, a half-written last line included."""
    from mteb_nano.evaluators.files import PER_QUERY, Writer

    writer = Writer("NanoViDoReV3")
    for step in (0, 50):
        scores = {"hr": {"q1": 0.1, "q2": 0.4 + step / 100}, "physics": {"q3": 0.2, "q4": 0.3}}
        writer.add_scores(tmp_path, scores, data_revision="a" * 40, model="org/m", step=step)
    path = tmp_path / PER_QUERY
    with path.open("a") as file:
        file.write('{"task": "NanoViD')
    assert main(["compare", str(path), "--json"]) == 0
    pair = json.loads(capsys.readouterr().out)[0]["pairs"][0]
    assert (pair["first"], pair["second"]) == ("org/m step 0", "org/m step 50")
    # One of two queries of one of two sources gained 0.5.
    assert pair["overall"]["difference"]["value"] == pytest.approx(0.125)


def test_a_query_scored_twice_is_refused(tmp_path):
    """Two runs appended to one file would be averaged silently: refused instead."""
    path = _evaluator_file(tmp_path / "per_query.jsonl", [0])
    path.write_text(path.read_text() * 2)
    with pytest.raises(UserError, match="second"):
        read_evaluator_file(path)


def test_an_unknown_step_is_named_with_the_known_ones(tmp_path):
    """A typo in the step says which steps there are."""
    path = _evaluator_file(tmp_path / "per_query.jsonl", [0, 5])
    with pytest.raises(UserError, match="no step 7; there are 0, 5"):
        read_evaluator_file(path, step=7)


def test_steps_are_only_split_from_evaluator_files(tmp_path):
    """An @ in another path is part of its name."""
    assert split_step("runs/per_query.jsonl@300")[1] == 300
    assert split_step("results@300")[1] is None
    assert split_step("a@b/per_query.jsonl")[1] is None
    assert split_step("per_query.jsonl@-1")[1] == -1
    for odd in ("--1", "\N{SUPERSCRIPT TWO}", ""):
        assert split_step(f"per_query.jsonl@{odd}")[1] is None
