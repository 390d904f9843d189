"""`mteb-nano check`: every fault of a dataset folder at once."""

import argparse
import sys
from pathlib import Path
from typing import Any

from mteb_nano.errors import UserError

_EPILOG = """Reads everything: hashes of the files, ids, qrels, texts, and every page image.
A folder without manifest.json is held to the published dataset of its shape.
Exit status 0 when there is no fault, 2 when there is one.

examples:
  mteb-nano check MY_DATASET
  mteb-nano check ~/.cache/huggingface/hub/datasets--lightonai--NanoViDoRe_v3/snapshots/*
"""


def add_parser(commands: Any) -> None:
    """Add the options."""
    parser = commands.add_parser(
        "check",
        help="every fault of a dataset folder",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the faults of each folder, or that there is none, and return the exit status."""
    statuses = []
    for folder in args.folders:
        try:
            statuses.append(_check(folder))
        except UserError as error:  # no dataset at all; the other folders may be
            print(error, file=sys.stderr)
            statuses.append(2)
    return max(statuses)


def _check(folder: Path) -> int:
    from mteb_nano.checking import claimed, faults_of

    dataset = claimed(folder)
    held_to = f"{dataset.name}, {dataset.kind}"
    if dataset.folder is None:
        held_to = f"no manifest.json, so held to the published {dataset.name}"
    faults = faults_of(folder)
    for fault in faults:
        print(fault)
    print(f"{folder} ({held_to}): {len(faults) or 'no'} fault{'s' * (len(faults) != 1)} found")
    return 2 if faults else 0
