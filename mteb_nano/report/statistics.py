"""Intervals and paired tests over queries that were sampled stratum by stratum. Needs NumPy only.

A stratum is a group of queries drawn together: a source of a page benchmark, a language of an OCR
benchmark. The estimate is always the mean over strata of the mean over a stratum's queries.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

N_RESAMPLES = 10_000
LEVEL = 0.95
# z(0.975) + z(0.80): found in 80% of repetitions by a two-sided test at 5%.
_DETECTABLE_Z = 1.959964 + 0.841621
# Differences this small come from the rounding of stored scores (6 digits), not from a ranking.
_TIE = 2e-6
_BLOCK = 2_000_000  # signs drawn at once, to keep memory flat for many queries


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence limits; `low` and `high` are None where there is none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Comparison:
    """What the same queries say about two systems; `difference` is second minus first.

    Attributes:
        p_value: Sign-flip permutation test, two-sided.
        detectable: Smallest true difference that such a test finds in 80% of repetitions.
    """

    difference: Interval
    p_value: float
    detectable: float | None
    wins: int
    ties: int
    losses: int


def mean_of_means(strata: Sequence[FloatArray]) -> FloatArray:
    """Return the mean over strata of the mean over queries (axis 0); other axes stay."""
    return np.mean([stratum.mean(axis=0) for stratum in strata], axis=0)


def mean_interval(
    strata: Sequence[FloatArray],
    *,
    n_resamples: int = N_RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Interval:
    """Return the mean over strata with a percentile interval, queries resampled in each stratum.

    From a stratum of n queries n - 1 are drawn, which makes the variance of the resampled mean
    exactly s^2 / n; drawing n would make small strata look too certain.

    Args:
        strata: One (n_queries,) array per stratum.

    Returns:
        Limits are None when a stratum has a single query: nothing can be said about its spread.

    Raises:
        ValueError: No stratum, an empty one, or a score that is not finite.

    Source: Rao & Wu 1988, Resampling inference with complex survey data, JASA 83, 231-241.
    """
    arrays = _checked(strata)
    value = float(mean_of_means(arrays))
    if min(len(stratum) for stratum in arrays) < 2:  # noqa: PLR2004
        return Interval(value)
    low, high = confidence_limits(arrays, n_resamples=n_resamples, level=level, seed=seed)
    return Interval(value, float(low), float(high))


def confidence_limits(
    strata: Sequence[FloatArray],
    *,
    n_resamples: int = N_RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> FloatArray:
    """Return the limits of `mean_interval`, (2, ...), for strata of shape (n_queries, ...)."""
    means = resampled_means(strata, n_resamples=n_resamples, seed=seed)
    tail = 50 * (1 - level)
    return np.percentile(means, [tail, 100 - tail], axis=0)


def resampled_means(
    strata: Sequence[FloatArray], *, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> FloatArray:
    """Return the estimate in each resample, (n_resamples, ...).

    The same seed draws the same queries for any scores, so several systems can be resampled
    together: give strata of shape (n_queries, n_systems).
    """
    total = sum(
        _resampling_weights(len(stratum), n_resamples, seed, number) @ stratum
        for number, stratum in enumerate(strata)
    )
    return np.asarray(total, dtype=np.float64) / len(strata)


@functools.lru_cache(maxsize=32)
def _resampling_weights(n: int, n_resamples: int, seed: int, stratum: int) -> FloatArray:
    """Return (n_resamples, n) weights of n - 1 draws with replacement; rows sum to 1."""
    rng = np.random.default_rng((seed, stratum))
    draws = rng.integers(0, n, size=(n_resamples, n - 1))
    # One bincount for all rows: row r counts in the cells r * n ... r * n + n - 1.
    cells = (draws + np.arange(n_resamples)[:, None] * n).ravel()
    counts = np.bincount(cells, minlength=n_resamples * n).reshape(n_resamples, n)
    return counts / (n - 1)


def compare_paired(
    first: Sequence[FloatArray],
    second: Sequence[FloatArray],
    *,
    n_resamples: int = N_RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Comparison:
    """Compare two systems on the same queries, given in the same order.

    Args:
        first: One (n_queries,) array of scores per stratum.
        second: The other system's, same strata, same queries.

    Raises:
        ValueError: Shapes differ, or as in `mean_interval`.
    """
    if [len(a) for a in first] != [len(b) for b in second]:
        raise ValueError("the two systems were not scored on the same queries")
    diffs = [b - a for a, b in zip(_checked(first), _checked(second), strict=True)]
    pooled = np.concatenate(diffs)
    error = standard_error(diffs)
    return Comparison(
        difference=mean_interval(diffs, n_resamples=n_resamples, level=level, seed=seed),
        p_value=sign_flip_p_value(diffs, n_resamples=n_resamples, seed=seed),
        detectable=None if error is None else _DETECTABLE_Z * error,
        wins=int((pooled > _TIE).sum()),
        ties=int((np.abs(pooled) <= _TIE).sum()),
        losses=int((pooled < -_TIE).sum()),
    )


def standard_error(strata: Sequence[FloatArray]) -> float | None:
    """Return the standard error of the mean over strata; None when a stratum has one query."""
    if min(len(stratum) for stratum in strata) < 2:  # noqa: PLR2004
        return None
    return math.sqrt(sum(s.var(ddof=1) / len(s) for s in strata)) / len(strata)


def sign_flip_p_value(
    diffs: Sequence[FloatArray], *, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> float:
    """Return the two-sided p-value of "each query's difference could as well have the other sign".

    All sign patterns are tried when there are no more of them than `n_resamples`; else that many
    are drawn and the observed one is counted among them, so that p is never 0.
    """
    weighted = np.concatenate([d / (len(d) * len(diffs)) for d in diffs])
    # A query without a difference adds nothing under either sign.
    weighted = weighted[weighted != 0]
    return float(sign_flip_p_values(weighted[:, None], n_resamples=n_resamples, seed=seed)[0])


def sign_flip_p_values(
    weighted: FloatArray, *, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> FloatArray:
    """Return `sign_flip_p_value` for many comparisons at once, (n_comparisons,).

    Args:
        weighted: (n_queries, n_comparisons) differences, each already times its query's weight in
            the estimate, so that a column's sum is the estimate.
    """
    n = len(weighted)
    observed = np.abs(weighted.sum(axis=0)) - 1e-12
    if 2.0**n <= n_resamples:
        patterns = 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1
        return np.mean(np.abs(patterns @ weighted) >= observed, axis=0)
    rng = np.random.default_rng((seed, n))
    as_extreme = np.ones(weighted.shape[1])
    for size in _blocks(n_resamples, max(1, _BLOCK // max(weighted.shape))):
        signs = 2.0 * rng.integers(0, 2, size=(size, n), dtype=np.int8) - 1
        as_extreme += (np.abs(signs @ weighted) >= observed).sum(axis=0)
    return as_extreme / (n_resamples + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number, in the order given.

    Source: Holm 1979, A simple sequentially rejective multiple test procedure.
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def _blocks(total: int, size: int) -> list[int]:
    return [min(size, total - start) for start in range(0, total, size)]


def _checked(strata: Sequence[FloatArray]) -> list[FloatArray]:
    arrays = [np.asarray(stratum, dtype=np.float64) for stratum in strata]
    if not arrays or not all(len(array) for array in arrays):
        raise ValueError("every stratum needs at least one query")
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("scores must be finite numbers")
    return arrays
