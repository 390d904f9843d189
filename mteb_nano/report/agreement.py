"""How far a nano benchmark stands for the full one: the same models on both."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mteb_nano.catalog import NANO_VIDORE_V3
from mteb_nano.errors import UserError
from mteb_nano.report import reference
from mteb_nano.report.boards import make_boards
from mteb_nano.report.estimates import Resampling, estimate
from mteb_nano.report.records import Result, is_real_data
from mteb_nano.report.statistics import FloatArray, Interval
from mteb_nano.report.tables import Table

# A correlation of fewer models says nothing.
_MIN_MODELS = 4
# Points of the full benchmark between two models, for the table of close neighbours.
_DISTANCES = (0.0, 0.01, 0.02, 0.05, 1.0)

USE = (
    "What this allows: following a training, catching a regression, telling models apart that are"
    " several points away from each other."
)
LIMIT = (
    "What it does not allow: ordering close neighbours, or quoting a nano score as a full one."
    " Confirm final results on the full benchmark."
)


@dataclass(frozen=True)
class Point:
    """One model's mean nDCG@10 on both benchmarks; `own` when one is from the user's files."""

    model: str
    nano: float
    full: float
    own: bool = False


@dataclass(frozen=True)
class WrongPair:
    """Two models that the nano benchmark orders otherwise; `better` leads on the full one."""

    better: str
    worse: str
    full_lead: float
    nano_lead: float


@dataclass(frozen=True)
class Agreement:
    """Correlations with 95% intervals, models resampled; `offset` is nano minus full."""

    points: tuple[Point, ...]
    spearman: Interval
    kendall: Interval
    pearson: Interval
    offset: Interval
    wrong_pairs: tuple[WrongPair, ...]


def collect_points(results: Sequence[Result] = ()) -> list[Point]:
    """Return the models scored on both benchmarks: the reference data and the user's own results.

    A user's own score takes the place of the reference's for the same model.

    Args:
        results: Results of NanoViDoReV3 (whole, of the real data) and of the 8 full tasks.
    """
    nano, full = reference.published_nano_means(), reference.full_means()
    own_nano, own_full = _own_nano(results), _own_full(results)
    nano, full = nano | own_nano, full | own_full
    return [
        Point(model, nano[model], full[model], own=model in own_nano or model in own_full)
        for model in sorted(nano.keys() & full.keys())
    ]


def _own_nano(results: Iterable[Result]) -> dict[str, float]:
    ours = [r for r in results if r.task == NANO_VIDORE_V3.name and is_real_data(r.data_revision)]
    point = Resampling(n_resamples=0)
    means = {}
    for board in make_boards(ours):
        for result in board.results:
            found = estimate(result, board.subsets, resampling=point)
            if found is not None:
                means[result.model] = found.value
    return means


def _own_full(results: Iterable[Result]) -> dict[str, float]:
    scores: dict[str, dict[tuple[str, str], float]] = {}
    tasks = set(reference.FULL_TASKS.values())
    for result in results:
        for language in reference.FULL_LANGUAGES if result.task in tasks else ():
            if language in result.subsets:
                value = result.subsets[language].scores["ndcg_at_10"]
                scores.setdefault(result.model, {})[result.task, language] = value
    whole = len(tasks) * len(reference.FULL_LANGUAGES)
    return {m: sum(s.values()) / whole for m, s in scores.items() if len(s) == whole}


def measure(points: Sequence[Point], *, n_resamples: int = 2_000, seed: int = 0) -> Agreement:
    """Return the agreement of both benchmarks over the given models.

    Intervals are SciPy's BCa bootstrap over models.

    Raises:
        UserError: Fewer than 4 models.
    """
    from scipy import stats

    if len(points) < _MIN_MODELS:
        raise UserError(
            f"expected at least {_MIN_MODELS} models scored on both benchmarks, got {len(points)}"
        )
    nano = np.array([p.nano for p in points])
    full = np.array([p.full for p in points])

    def interval(statistic: Callable[[FloatArray, FloatArray], float]) -> Interval:
        value = float(statistic(nano, full))
        found: Any = stats.bootstrap(
            (nano, full),
            statistic,
            paired=True,
            vectorized=False,
            n_resamples=n_resamples,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
        low, high = (float(x) for x in found.confidence_interval)
        return Interval(value, low, high) if np.isfinite([low, high]).all() else Interval(value)

    return Agreement(
        points=tuple(points),
        spearman=interval(lambda x, y: stats.spearmanr(x, y).statistic),
        kendall=interval(lambda x, y: stats.kendalltau(x, y).statistic),
        pearson=interval(lambda x, y: stats.pearsonr(x, y).statistic),
        offset=interval(lambda x, y: float(np.mean(x - y))),
        wrong_pairs=tuple(_wrong_pairs(points)),
    )


def _wrong_pairs(points: Sequence[Point]) -> list[WrongPair]:
    found = []
    for a, b in itertools.combinations(points, 2):
        better, worse = (a, b) if a.full > b.full else (b, a)
        if better.full > worse.full and better.nano < worse.nano:
            lead = better.full - worse.full
            found.append(WrongPair(better.model, worse.model, lead, better.nano - worse.nano))
    return sorted(found, key=lambda pair: (-pair.full_lead, pair.better, pair.worse))


def agreement_tables(agreement: Agreement) -> list[Table]:
    """Return the figures, the share of wrongly ordered pairs by distance, and those pairs."""
    n = len(agreement.points)
    own = sum(point.own for point in agreement.points)
    rows = (
        ("Spearman", _plain(agreement.spearman)),
        ("Kendall", _plain(agreement.kendall)),
        ("Pearson", _plain(agreement.pearson)),
        ("offset, nano - full (points)", _plain(agreement.offset, scale=100, digits=1)),
    )
    notes = (
        f"Nano: {reference.PUBLISHED_SOURCE}.",
        f"Full: {reference.FULL_SOURCE}.",
        *((f"{own} of the models are from your own result files.",) if own else ()),
        USE,
        LIMIT,
    )
    title = f"NanoViDoRe v3 and the full ViDoRe v3 (8 public tasks, 6 languages), {n} models"
    return [
        Table(title, ("agreement", "value [95% interval]"), rows, notes),
        _distance_table(agreement),
        Table(
            f"{len(agreement.wrong_pairs)} pairs that the nano benchmark orders wrongly (x 100)",
            ("better on the full one", "worse on the full one", "full lead", "nano lead"),
            tuple((p.better, p.worse, p.full_lead, p.nano_lead) for p in agreement.wrong_pairs),
        ),
    ]


def _distance_table(agreement: Agreement) -> Table:
    leads = [abs(a.full - b.full) for a, b in itertools.combinations(agreement.points, 2)]
    wrong = [pair.full_lead for pair in agreement.wrong_pairs]
    rows = []
    for low, high in itertools.pairwise(_DISTANCES):
        n_pairs = sum(low <= lead < high for lead in leads)
        n_wrong = sum(low <= lead < high for lead in wrong)
        label = f"{100 * low:g} to {100 * high:g}" if high < 1 else f"{100 * low:g} and more"
        rows.append((label, n_pairs, n_wrong, n_wrong / n_pairs if n_pairs else None))
    columns = ("points apart on the full one", "pairs", "wrong order", "% wrong")
    return Table("Pairs of models by distance", columns, tuple(rows))


def _plain(value: Interval, *, scale: float = 1, digits: int = 3) -> str:
    """Return a figure that is no score: correlations are not written x 100."""
    sign = "+" if scale != 1 else ""
    text = f"{scale * value.value:{sign}.{digits}f}"
    if value.low is None or value.high is None:
        return text
    return f"{text} [{scale * value.low:{sign}.{digits}f}, {scale * value.high:{sign}.{digits}f}]"
