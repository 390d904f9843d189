"""What OCR noise costs a model: clean minus noisy nDCG@10, with paired intervals.

    mteb run -t MyOCR -m mteb/baseline-bm25s --output-folder results
    python -m benchmarks.ocr_drop results/results/mteb__baseline-bm25s/0_3_0/MyOCR.json

Queries are paired with themselves and resampled within each language. Where queries are whole
sentences of the documents (`known_items` without `--drop-words`), the mode `ocr` gives a query and
its passage the very same noise: then the modes with one clean side are those that tell.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mteb_nano.catalog import MODES
from mteb_nano.report.statistics import compare_paired

Scores = Mapping[str, Mapping[str, float]]  # subset -> query -> nDCG@10


def read_scores(path: Path) -> Scores:
    """Return the scores of each query of a result file."""
    rows: list[dict[str, Any]] = json.loads(path.read_text())["scores"]["test"]
    return {row["hf_subset"]: row["per_query"]["ndcg_at_10"] for row in rows}


def rows(scores: Scores) -> Iterator[str]:
    """Yield a line per setting and noisy mode: the mean and its difference from clean."""
    settings = sorted({subset.split("_", 1)[1].rsplit("_", 1)[0] for subset in scores})
    langs = sorted({subset.split("_", 1)[0] for subset in scores})
    for setting in settings:
        for mode in MODES:
            noisy, clean = (
                [_array(scores, f"{lang}_{setting}_{which}") for lang in langs]
                for which in (mode, "clean")
            )
            mean = 100 * float(np.mean([found.mean() for found in noisy]))
            if mode == "clean":
                yield f"| {setting} | clean | {mean:.1f} | |"
                continue
            drop = compare_paired(clean, noisy).difference
            limits = [100 * limit for limit in (drop.low, drop.high) if limit is not None]
            interval = ", ".join(f"{limit:+.1f}" for limit in limits) or "too few queries"
            yield f"| {setting} | {mode} | {mean:.1f} | {100 * drop.value:+.1f} [{interval}] |"


def missing(scores: Scores) -> list[str]:
    """Return the subsets that a whole run would have beside these."""
    pairs = {subset.rsplit("_", 1)[0] for subset in scores}
    whole = {f"{pair}_{mode}" for pair in pairs for mode in MODES}
    return sorted(whole - set(scores))


def _array(scores: Scores, subset: str) -> np.ndarray:
    mine = scores[subset]
    return np.array([mine[query] for query in sorted(mine)])


def main() -> int:
    """Run the benchmark."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("results", type=Path, nargs="+", help="result files of mteb, one a model")
    args = p.parse_args()
    for path in args.results:
        scores = read_scores(path)
        if faults := missing(scores):
            print(f"{path}: no scores of {', '.join(faults)}: end the run first", file=sys.stderr)
            return 2
        print(f"\n{path}\n\n| setting | mode | nDCG@10 | minus clean, 95% interval |")
        print("| --- | --- | --- | --- |")
        for line in rows(scores):
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
