"""What the commands share: options, what they tell on stderr, where they write."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mteb_nano.catalog import Dataset, from_manifest
from mteb_nano.errors import UserError
from mteb_nano.manifest import read_manifest
from mteb_nano.report.estimates import Resampling
from mteb_nano.report.tables import Table

_MAX_PROBLEMS = 30


def add_results_options(parser: argparse.ArgumentParser) -> None:
    """Add what every command that reads result files takes."""
    parser.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS", help="result files, or folders of them"
    )
    parser.add_argument(
        "--task", action="append", metavar="NAME", help="only this task (can be given again)"
    )
    parser.add_argument(
        "--resamples",
        type=resamples,
        default=Resampling.n_resamples,
        metavar="N",
        help="resamples behind each interval (default: %(default)s)",
    )
    parser.add_argument("--seed", type=seed, default=0, help="of the resampling (default: 0)")
    parser.add_argument(
        "--quiet", action="store_true", help="do not list files and parts that cannot be used"
    )


def dataset_of(folder: Path) -> Dataset:
    """Return what a dataset folder's manifest says."""
    return from_manifest(read_manifest(folder), folder)


def tell_problems(problems: list[str], *, quiet: bool) -> None:
    """Print what could not be used on stderr, at most 30 lines of it."""
    if quiet:
        return
    for line in problems[:_MAX_PROBLEMS]:
        print(line, file=sys.stderr)
    if len(problems) > _MAX_PROBLEMS:
        print(f"... and {len(problems) - _MAX_PROBLEMS} more (--json has all)", file=sys.stderr)


def write_tables(tables: Sequence[Table], form: str, out: Path | None) -> None:
    """Write tables as `markdown`, or as they look in a `terminal`."""
    from mteb_nano.report import render

    if form == "markdown":
        write_text(render.to_markdown(tables), out)
    elif out is not None:
        write_text(render.to_text(tables), out)
    else:
        render.print_tables(tables)


def write_text(text: str, out: Path | None) -> None:
    """Write text to a file, beside it first, or to stdout.

    Raises:
        UserError: The file cannot be written.
    """
    # File names need not be UTF-8; what cannot be encoded is shown as Python shows it.
    content = text.encode("utf-8", "backslashreplace")
    if out is None:
        sys.stdout.write(content.decode())
        return
    if out.is_dir():
        raise UserError(f"{out}: is a folder; name the file to write")
    part = out.with_name(f".{out.name}.partial")
    try:
        part.write_bytes(content)
        part.replace(out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UserError(f"{out}: cannot be written: {error.strerror}") from None


def resamples(text: str) -> int:
    """Parse the number of resamples; fewer than 100 have no 2.5% tail to speak of."""
    return _integer(text, low=100, high=1_000_000)


def seed(text: str) -> int:
    """Parse a seed."""
    return _integer(text, low=0, high=2**63 - 1)


def _integer(text: str, *, low: int, high: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        raise argparse.ArgumentTypeError(f"expected a number from {low} to {high}, got {text!r}")
    return value
