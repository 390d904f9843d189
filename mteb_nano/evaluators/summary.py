"""nDCG@10 of each query -> the few numbers that are logged."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mteb_nano.report.estimates import Resampling, estimate
from mteb_nano.report.records import MAIN_METRIC, Result, Subset

log = logging.getLogger(__name__)
MAX_KEYS = 20  # nobody looks at more curves
_ALWAYS = 4  # the mean, its two limits, and the seconds


@dataclass(frozen=True)
class Shown:
    """A group whose mean is logged: the mean over its subsets of the mean over their queries.

    Attributes:
        members: Subset -> query ids.
        kind: What the group is one of (`source`, `language`); all of a kind are shown or none.
    """

    name: str
    kind: str
    members: Mapping[str, Sequence[str]]


def fitting(groups: Sequence[Shown]) -> tuple[Shown, ...]:
    """Return the groups of those kinds that fit in the keys, first come first served."""
    kept: list[Shown] = []
    for kind in dict.fromkeys(group.kind for group in groups):
        mine = [group for group in groups if group.kind == kind]
        if len(kept) + len(mine) + _ALWAYS <= MAX_KEYS:
            kept += mine
        else:
            log.warning(
                "%d means, one for each %s, are not logged: with them there would be more than %d "
                "keys; per_query.jsonl has them all",
                len(mine),
                kind,
                MAX_KEYS,
            )
    return tuple(kept)


def summary(scores: Mapping[str, Mapping[str, float]], shown: Sequence[Shown]) -> tuple[float, ...]:
    """Return the mean, the limits of its 95% interval, and the mean of each group.

    The mean is that of the subsets' means, as mteb's main score is; its interval is the report's.
    A limit is NaN where a subset has a single query, since that says nothing about spread.

    Args:
        scores: nDCG@10 by subset and query.
        shown: The groups.
    """
    subsets = {
        name: Subset(name, {MAIN_METRIC: _mean(queries.values())}, {MAIN_METRIC: queries})
        for name, queries in scores.items()
    }
    result = Result("", "", "", "", subsets, Path(), rounded=False)
    interval = estimate(result, list(subsets), resampling=Resampling())
    if interval is None:
        raise ValueError("nothing was scored")
    limits = (math.nan if limit is None else limit for limit in (interval.low, interval.high))
    means = (
        _mean([_mean([scores[s][q] for q in ids]) for s, ids in group.members.items()])
        for group in shown
    )
    return (interval.value, *limits, *means)


def _mean(values: Sequence[float] | object) -> float:
    numbers = list(values)  # type: ignore[call-overload]
    return sum(numbers) / len(numbers)
