"""`python -m mteb_nano.report`: the subcommands of this package alone."""

import argparse
import sys

from mteb_nano.errors import UserError
from mteb_nano.report.commands import add_parsers


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand and return its exit code; bad input is told in one line and gives 2."""
    parser = argparse.ArgumentParser(prog="mteb-nano", description=__doc__)
    add_parsers(parser.add_subparsers(dest="command", required=True))
    args = parser.parse_args(argv)
    try:
        return args.run(args)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
