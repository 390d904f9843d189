"""A missing package is told by the extra that brings it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """End the command with status 2 and one line if a package is missing inside."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("builders", "mteb_nano"):
            raise  # not a package that an extra brings, but a fault of ours
        print(f"{package} is missing: pip install 'mteb-nano[{extra}]'", file=sys.stderr)
        raise SystemExit(2) from None
