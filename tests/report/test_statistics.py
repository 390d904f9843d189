"""Statistics against SciPy, exact enumeration and definitions written another way."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mteb_nano.report import statistics


def _strata(seed, sizes):
    rng = np.random.default_rng(seed)
    return [np.round(rng.beta(0.8, 0.5, n), 6) for n in sizes]


def test_stratified_interval_agrees_with_scipy():
    """Limits are SciPy's percentile bootstrap of independent samples, up to resampling noise."""
    strata = _strata(1, [50] * 8)
    ours = statistics.mean_interval(strata, n_resamples=20_000)
    theirs = stats.bootstrap(
        strata,
        lambda *samples, axis: np.mean([s.mean(axis=axis) for s in samples], axis=0),
        n_resamples=20_000,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(3),
    ).confidence_interval
    # SciPy draws n of n, which is sqrt(49/50) = 1% too narrow; the rest is noise.
    assert ours.low == pytest.approx(theirs.low, abs=0.0015)
    assert ours.high == pytest.approx(theirs.high, abs=0.0015)


def test_resampled_variance_is_unbiased():
    """Drawing n - 1 gives each stratum's mean the variance s^2 / n, even for three queries."""
    strata = [np.array([0.0, 0.4, 1.0]), np.array([0.2, 0.3, 0.9, 0.1])]
    means = statistics.resampled_means(strata, n_resamples=200_000)
    expected = statistics.standard_error(strata)
    by_hand = np.sqrt((0.253333 / 3 + 0.129167 / 4) / 4)  # sample variances worked by hand
    assert expected == pytest.approx(by_hand, rel=1e-4)
    assert means.std() == pytest.approx(expected, rel=0.01)


def test_interval_is_stratified_not_pooled():
    """Strata that differ from each other but not within have an interval of width zero."""
    interval = statistics.mean_interval([np.full(5, 0.1), np.full(9, 0.9)])
    assert (interval.value, interval.low, interval.high) == pytest.approx((0.5, 0.5, 0.5))


def test_strata_weigh_the_same_whatever_their_size():
    """The value is the mean over strata: (0.2 + 0.6) / 2, not the mean over the five queries."""
    interval = statistics.mean_interval([np.array([0.1, 0.3]), np.array([0.6, 0.6, 0.6])])
    assert interval.value == pytest.approx(0.4)


def test_one_query_has_no_interval():
    """A stratum of one query says nothing about its spread, so limits and detectable are None."""
    one = [np.array([0.5]), np.array([0.1, 0.2])]
    assert statistics.mean_interval(one).low is None
    result = statistics.compare_paired(one, [s + 0.1 for s in one])
    assert result.detectable is None
    assert result.difference.low is None


@pytest.mark.parametrize("bad", [[], [np.array([])], [np.array([0.5, np.nan])]])
def test_unusable_scores_are_refused(bad):
    """Nothing, an empty stratum and NaN are errors, never a number."""
    with pytest.raises(ValueError, match=r"query|finite"):
        statistics.mean_interval(bad)


def test_sign_flip_enumerates_few_queries_as_scipy_does():
    """With 9 queries all 512 sign patterns are tried: SciPy's exact paired permutation test."""
    rng = np.random.default_rng(4)
    a, b = rng.random(9), rng.random(9) + 0.2
    theirs = stats.permutation_test(
        (b, a),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    ).pvalue
    assert statistics.sign_flip_p_value([b - a]) == pytest.approx(theirs)


def test_sign_flip_of_many_queries_agrees_with_scipy():
    """Drawn sign patterns give the p-value of SciPy's drawn permutations within noise."""
    rng = np.random.default_rng(5)
    a = rng.beta(0.8, 0.5, 400)
    b = np.clip(a + rng.normal(0.015, 0.15, 400), 0, 1)
    theirs = stats.permutation_test(
        (b, a),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        vectorized=True,
        rng=rng,
    ).pvalue
    ours = statistics.sign_flip_p_value([b - a], n_resamples=20_000)
    assert 0.005 < theirs < 0.5
    assert ours == pytest.approx(theirs, abs=0.012)


def test_equal_systems_have_p_one():
    """Without any difference every sign pattern is as extreme."""
    same = _strata(6, [10, 10])
    result = statistics.compare_paired(same, same)
    assert (result.p_value, result.wins, result.ties, result.losses) == (1.0, 0, 20, 0)


def test_paired_comparison_of_hand_worked_scores():
    """Differences +1, +1, -1, 0 in one stratum: mean 0.25, 2 wins, 1 loss, exact p = 1."""
    a = [np.array([0.0, 0.0, 1.0, 0.5])]
    b = [np.array([1.0, 1.0, 0.0, 0.5])]
    result = statistics.compare_paired(a, b)
    assert result.difference.value == pytest.approx(0.25)
    assert (result.wins, result.ties, result.losses) == (2, 1, 1)
    # Of the 8 patterns of (1, 1, 1) each sum is +-1 or +-3: all are at least as extreme as |1|.
    assert result.p_value == pytest.approx(1.0)
    # sd of (1, 1, -1, 0) is 0.957427; 2.801585 * 0.957427 / 2
    assert result.detectable == pytest.approx(1.34116, abs=1e-4)


def test_different_numbers_of_queries_cannot_be_paired():
    """Strata of different sizes are refused instead of being broadcast."""
    with pytest.raises(ValueError, match="same queries"):
        statistics.compare_paired([np.zeros(3)], [np.zeros(1)])


def test_same_seed_same_bytes():
    """The same scores give the same limits in any process and whatever ran before."""
    strata = _strata(7, [50, 40])
    first = statistics.mean_interval(strata)
    statistics.mean_interval(_strata(8, [60]))
    assert statistics.mean_interval(strata) == first
    assert statistics.mean_interval(strata, seed=1) != first


def test_systems_resampled_together_equal_each_alone():
    """Resampling several systems at once draws the same queries as resampling each alone."""
    a, b = _strata(9, [20, 30]), _strata(10, [20, 30])
    both = statistics.resampled_means([np.stack(pair, 1) for pair in zip(a, b, strict=True)])
    np.testing.assert_allclose(both[:, 1], statistics.resampled_means(b), atol=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_holm_is_the_closed_bonferroni_test(p_values):
    """Holm's adjusted p is the largest Bonferroni p of all sets of tests that hold this one."""
    indices = range(len(p_values))
    sets = [s for n in range(1, 8) for s in itertools.combinations(indices, n)]
    closed = [
        max(min(1.0, len(s) * min(p_values[j] for j in s)) for s in sets if i in s) for i in indices
    ]
    assert statistics.holm(p_values) == pytest.approx(closed)
