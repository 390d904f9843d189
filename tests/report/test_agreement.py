"""The published scores alone must give the known figures; own results are added, samples never."""

import itertools
import json

import numpy as np
import pytest

from mteb_nano.errors import UserError
from mteb_nano.report import reference
from mteb_nano.report.__main__ import main
from mteb_nano.report.agreement import Point, agreement_tables, collect_points, measure
from mteb_nano.report.reading import read_results
from tests.report.result_files import SOURCES, subset_scores

FULL_TASKS = list(reference.FULL_TASKS.values())


@pytest.fixture(scope="module")
def published():
    return measure(collect_points(), n_resamples=500)


def test_published_scores_give_the_known_figures(published):
    """Spearman 0.991, Kendall 0.938, Pearson 0.990 over 26 models, nano 1.0 point higher."""
    assert len(published.points) == 26
    assert round(published.spearman.value, 3) == 0.991
    assert round(published.kendall.value, 3) == 0.938
    assert round(published.pearson.value, 3) == 0.990
    assert round(100 * published.offset.value, 1) == 1.0
    for value in (published.spearman, published.kendall, published.pearson, published.offset):
        assert value.low < value.value < value.high


def test_reference_data_are_whole():
    """42 published nano models; 49 and 28 full model sets, all but two with 48 scores."""
    assert len(reference.published_nano_means()) == 42
    assert len(reference.full_means()) + len(reference.full_means(task_version="v2")) >= 75
    readme = reference.files("mteb_nano").joinpath("reference", "README.md").read_text()
    assert "CC0" in readme
    assert "Apache-2.0" in readme


def test_wrong_pairs_are_all_discordant_pairs(published):
    """The listed pairs are those whose nano and full differences have opposite signs."""
    expected = {
        frozenset((a.model, b.model))
        for a, b in itertools.combinations(published.points, 2)
        if (a.full - b.full) * (b.nano - a.nano) > 0
    }
    assert {frozenset((p.better, p.worse)) for p in published.wrong_pairs} == expected
    # Kendall's tau without ties is 1 - 2 * (discordant pairs) / (all pairs).
    n_pairs = 26 * 25 / 2
    assert published.kendall.value == pytest.approx(1 - 2 * len(expected) / n_pairs)


def test_own_results_are_added_and_marked(write_pages, tmp_path, published):
    """A nano result of a model with full reference scores is one more point, marked as own."""
    names = {point.model for point in published.points}
    new = next(model for model in sorted(reference.full_means()) if model not in names)
    write_pages(new, 0.5)
    write_pages("org/unknown", 0.5)
    points = collect_points(read_results([tmp_path]).results)
    assert len(points) == 27
    assert [p.model for p in points if p.own] == [new]


def test_sample_local_and_partial_results_are_never_added(write_pages, tmp_path, published):
    """Scores of other data or of 7 sources would shift the figures unseen."""
    names = {point.model for point in published.points}
    a, b, c = [model for model in sorted(reference.full_means()) if model not in names][:3]
    write_pages(a, data_revision="local-0123456789ab")
    write_pages(b, data_revision="sample-0.1.0")
    write_pages(c, sources=SOURCES[:7])
    assert collect_points(read_results([tmp_path]).results) == list(published.points)


def test_a_new_model_with_both_scores_counts(write_pages, write_result, tmp_path):
    """A model unknown to the reference is added when the files hold all 8 full tasks as well."""
    write_pages("org/new", 0.5)
    rng = np.random.default_rng(0)
    for task in FULL_TASKS:
        subsets = {
            language: subset_scores(np.round(rng.random(4), 6), list("abcd"))
            for language in reference.FULL_LANGUAGES
        }
        write_result("org/new", task, subsets, data_revision="c" * 40)
    tasks = ["NanoViDoReV3", *FULL_TASKS]
    own = [p for p in collect_points(read_results([tmp_path], tasks=tasks).results) if p.own]
    assert [p.model for p in own] == ["org/new"]
    entries = [
        entry["ndcg_at_10"]
        for task in FULL_TASKS
        for entry in json.loads(next(tmp_path.rglob(f"{task}.json")).read_text())["scores"]["test"]
    ]
    assert len(entries) == 48
    assert own[0].full == pytest.approx(np.mean(entries))


def test_too_few_models_are_refused():
    """Three models have no correlation to speak of."""
    with pytest.raises(UserError, match="at least 4 models"):
        measure([Point(str(i), i / 10, i / 10) for i in range(3)])


def test_output_says_what_it_allows(capsys, tmp_path):
    """The command gives the figures, what they are good for, and the plot in two formats."""
    plot = tmp_path / "agreement"
    assert main(["agreement", "--markdown", "--resamples", "200", "--plot", str(plot)]) == 0
    text = capsys.readouterr().out
    for words in ("0.991", "0.938", "0.990", "What this allows", "What it does not allow"):
        assert words in text
    assert (tmp_path / "agreement.svg").read_text().startswith("<?xml")
    assert (tmp_path / "agreement.png").read_bytes().startswith(b"\x89PNG")


def test_close_neighbours_are_where_the_order_fails(published):
    """Pairs less than a point apart are wrong far more often than those 5 and more apart."""
    rows = agreement_tables(published)[1].rows
    n_pairs, share_wrong = [row[1] for row in rows], [row[3] for row in rows]
    assert n_pairs == [22, 24, 64, 215]
    assert share_wrong == pytest.approx([6 / 22, 2 / 24, 1 / 64, 1 / 215])
