"""Records -> estimates with intervals: which queries make a stratum, and what is averaged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mteb_nano.report.records import MAIN_METRIC, Result, parse_cell
from mteb_nano.report.statistics import LEVEL, FloatArray, Interval, mean_interval

QueryScores = Mapping[str, float]


@dataclass(frozen=True)
class Resampling:
    """How intervals are made; the same everywhere in one report."""

    n_resamples: int = 5_000
    seed: int = 0
    level: float = LEVEL


def scores_by_stratum(
    result: Result, subsets: Iterable[str], *, metric: str = MAIN_METRIC
) -> dict[str, QueryScores] | None:
    """Return stratum -> query id -> score; None when a subset has no per-query scores.

    A page benchmark's stratum is a source. In an OCR benchmark the same queries are asked in every
    setting and mode, so a stratum is a language and a query's score its mean over the subsets:
    resampling the subsets apart would treat one query as many.
    """
    subsets = list(subsets)
    scores = {}
    for subset in subsets:
        found = result.subsets.get(subset)
        if found is None or metric not in found.per_query:
            return None
        scores[subset] = found.per_query[metric]
    by_language: dict[str, list[QueryScores]] = {}
    for subset in subsets:
        cell = parse_cell(subset)
        by_language.setdefault(cell.language if cell else subset, []).append(scores[subset])
    shared = all(
        same.keys() == cells[0].keys() for cells in by_language.values() for same in cells[1:]
    )
    even = len({len(cells) for cells in by_language.values()}) == 1
    if not (shared and even):
        return scores
    return {
        language: {query: sum(c[query] for c in cells) / len(cells) for query in cells[0]}
        for language, cells in by_language.items()
    }


def as_arrays(strata: Mapping[str, QueryScores]) -> list[FloatArray]:
    """Return one array per stratum; strata and queries in the order of their names."""
    return [
        np.array([scores[query] for query in sorted(scores)])
        for _, scores in sorted(strata.items())
    ]


def estimate(
    result: Result,
    subsets: Sequence[str],
    *,
    metric: str = MAIN_METRIC,
    resampling: Resampling,
) -> Interval | None:
    """Return the mean over subsets with its interval.

    None when a subset is missing: a mean over what happens to be there is another quantity.
    Without per-query scores the interval has no limits.
    """
    values = [result.subsets[s].scores.get(metric) for s in subsets if s in result.subsets]
    known = [value for value in values if value is not None]
    if not subsets or len(known) < len(subsets):
        return None
    value = sum(known) / len(known)
    strata = scores_by_stratum(result, subsets, metric=metric)
    return _with_limits(value, as_arrays(strata) if strata else None, resampling)


def estimate_difference(
    result: Result, subsets: Sequence[str], baseline: Sequence[str], *, resampling: Resampling
) -> Interval | None:
    """Return the mean over `subsets` minus that over `baseline`, paired by query.

    None when a subset is missing.
    """
    first = estimate(result, baseline, resampling=_POINT_ONLY)
    second = estimate(result, subsets, resampling=_POINT_ONLY)
    if first is None or second is None:
        return None
    before = scores_by_stratum(result, baseline)
    after = scores_by_stratum(result, subsets)
    diffs = None
    if before and after and _same_queries(before, after):
        pairs = zip(as_arrays(before), as_arrays(after), strict=True)
        diffs = [b - a for a, b in pairs]
    return _with_limits(second.value - first.value, diffs, resampling)


# Limits of a mean that is only needed as a number are not computed.
_POINT_ONLY = Resampling(n_resamples=0)


def _with_limits(
    value: float, strata: Sequence[FloatArray] | None, resampling: Resampling
) -> Interval:
    if not strata or not resampling.n_resamples:
        return Interval(value)
    found = mean_interval(
        strata,
        n_resamples=resampling.n_resamples,
        seed=resampling.seed,
        level=resampling.level,
    )
    return Interval(value, found.low, found.high)


def _same_queries(a: Mapping[str, QueryScores], b: Mapping[str, QueryScores]) -> bool:
    return a.keys() == b.keys() and all(a[name].keys() == b[name].keys() for name in a)
