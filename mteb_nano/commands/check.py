"""`mteb-nano check`: every fault of a dataset folder at once."""

import argparse
from pathlib import Path
from typing import Any

_EPILOG = """Reads everything: hashes of the files, ids, qrels, texts, and every page image.
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
    parser.add_argument("folder", type=Path)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the faults, or what the folder holds."""
    from mteb_nano.checking import faults_of

    faults = faults_of(args.folder)
    for fault in faults:
        print(fault)
    if not faults:
        print(f"{args.folder}: no fault found")
    return 2 if faults else 0
