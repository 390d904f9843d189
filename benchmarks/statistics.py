"""Do the intervals and tests keep their promise? Coverage and type-I error by simulation.

    python benchmarks/statistics.py [--repetitions 4000]

A universe of many queries per source is made whose true mean is known; benchmarks of the real size
(8 sources x 50 queries, and 4 x 13 like the sample) are drawn from it again and again. Exit code 1
when a figure of this project's own methods leaves its range: coverage 93-97%, type-I error 4-6%.
"""

import argparse
import sys

import numpy as np
from numpy.typing import NDArray

from mteb_nano.report.statistics import (
    FloatArray,
    confidence_limits,
    mean_of_means,
    sign_flip_p_values,
    standard_error,
)

N_UNIVERSE = 20_000
COVERAGE_RANGE = (0.93, 0.97)
TYPE_I_RANGE = (0.04, 0.06)
BLOCK = 500


def make_universe(rng: np.random.Generator, n_sources: int, noise: float) -> list[FloatArray]:
    """Return per source (N_UNIVERSE, 2) scores of two systems, nDCG-like: many 0, many 1.

    Args:
        noise: Spread between the two systems on the same query; 0.05 is like two checkpoints of
            one training, 0.3 like unrelated models.
    """
    universe = []
    for difficulty in np.linspace(-0.1, 0.35, n_sources):
        base = rng.normal(0.45 + difficulty, 0.45, N_UNIVERSE)
        own = rng.normal(0, noise, (N_UNIVERSE, 2))
        scores = np.clip(base[:, None] + own, 0, 1)
        swap = rng.random(N_UNIVERSE) < 0.5
        scores[swap] = scores[swap][:, ::-1]
        universe.append(scores)
    return universe


def draw(
    universe: list[FloatArray], rng: np.random.Generator, n_queries: int, n_benchmarks: int
) -> list[FloatArray]:
    """Return per source (n_queries, n_benchmarks, 2) scores."""
    return [source[rng.integers(0, len(source), (n_queries, n_benchmarks))] for source in universe]


def coverage(strata: list[FloatArray], truth: float, *, n_resamples: int) -> dict[str, FloatArray]:
    """Return whether each benchmark's interval holds the truth, and how wide it is, per method."""
    pooled = [np.concatenate(strata)]
    task_means = [np.stack([stratum.mean(axis=0) for stratum in strata])]
    found = {}
    for name, sample in (("stratified", strata), ("pooled", pooled), ("task means", task_means)):
        low, high = confidence_limits(sample, n_resamples=n_resamples)
        found[name] = np.stack([(low <= truth) & (truth <= high), high - low])
    return found


def rejections(diffs: list[FloatArray], *, n_resamples: int) -> dict[str, NDArray[np.bool]]:
    """Return whether each benchmark's null hypothesis is rejected at 5%, per method."""
    weighted = np.concatenate([d / (len(d) * len(diffs)) for d in diffs])
    low, high = confidence_limits(diffs, n_resamples=n_resamples)
    task_means = [np.stack([d.mean(axis=0) for d in diffs])]
    task_low, task_high = confidence_limits(task_means, n_resamples=n_resamples)
    return {
        "sign-flip": sign_flip_p_values(weighted, n_resamples=n_resamples) < 0.05,
        "stratified interval": (low > 0) | (high < 0),
        "interval of task means": (task_low > 0) | (task_high < 0),
    }


def simulate(
    *, n_sources: int, n_queries: int, noise: float, repetitions: int, n_resamples: int, seed: int
) -> dict[str, float]:
    """Return every figure of one set-up, averaged over repetitions."""
    rng = np.random.default_rng(seed)
    universe = make_universe(rng, n_sources, noise)
    truth = float(mean_of_means([source[:, 0] for source in universe]))
    centre = [np.diff(source, axis=1).mean() for source in universe]
    sums: dict[str, float] = {}
    for _ in range(repetitions // BLOCK):
        scores = draw(universe, rng, n_queries, BLOCK)
        firsts = [s[:, :, 0] for s in scores]
        # The swap in make_universe leaves a tiny mean difference, which would not be a true null.
        diffs = [s[:, :, 1] - s[:, :, 0] - c for s, c in zip(scores, centre, strict=True)]
        figures = {
            f"{key} {name}": float(value)
            for name, both in coverage(firsts, truth, n_resamples=n_resamples).items()
            for key, value in zip(("coverage", "width"), both.mean(axis=1), strict=True)
        }
        rejected = rejections(diffs, n_resamples=n_resamples)
        figures |= {f"type-I {name}": float(hit.mean()) for name, hit in rejected.items()}
        first = standard_error([d[:, 0] for d in diffs])
        figures["detectable"] = 2.801585 * (first or float("nan"))
        for key, value in figures.items():
            sums[key] = sums.get(key, 0.0) + value
    return {key: value / (repetitions // BLOCK) for key, value in sums.items()}


def main() -> int:
    """Print every figure; return 1 when one of our own methods leaves its range."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=4000)
    parser.add_argument("--resamples", type=int, default=2000)
    args = parser.parse_args()
    faults = []
    for n_sources, n_queries, noise in ((8, 50, 0.05), (8, 50, 0.3), (4, 13, 0.3)):
        figures = simulate(
            n_sources=n_sources,
            n_queries=n_queries,
            noise=noise,
            repetitions=max(BLOCK, args.repetitions),
            n_resamples=args.resamples,
            seed=0,
        )
        print(f"\n{n_sources} sources x {n_queries} queries, noise between systems {noise}")
        for name, value in sorted(figures.items()):
            unit = "points" if name.startswith(("width", "detectable")) else "%"
            print(f"  {name:32} {100 * value:6.2f} {unit}")
        faults += _out_of_range(figures, small=n_queries < 50)
    print("\n" + ("\n".join(faults) or "all within range: coverage 93-97%, type-I error 4-6%"))
    return 1 if faults else 0


def _out_of_range(figures: dict[str, float], *, small: bool) -> list[str]:
    ranges = {"coverage stratified": COVERAGE_RANGE, "type-I sign-flip": TYPE_I_RANGE}
    if not small:  # a percentile interval of so few queries is only good for its coverage
        ranges["type-I stratified interval"] = TYPE_I_RANGE
    return [
        f"OUT OF RANGE: {name} is {100 * figures[name]:.2f}%, wanted {100 * low:g}-{100 * high:g}%"
        for name, (low, high) in ranges.items()
        if not low <= figures[name] <= high
    ]


if __name__ == "__main__":
    sys.exit(main())
