"""The `mteb-nano` command: a thin layer, each subcommand one call into the library."""

import argparse
import io
import os
import sys
from collections.abc import Sequence

from mteb_nano import __version__
from mteb_nano.commands import check, data, demo, run
from mteb_nano.errors import UserError
from mteb_nano.report import commands as report

_EXAMPLES = """examples:
  mteb-nano demo                                         both benchmarks on the embedded sample
  mteb-nano run -t NanoViDoReV3 -m vidore/colqwen2.5-v0.2
  mteb-nano run -t OCRMLDR -m intfloat/multilingual-e5-small --langs de fr --dpi 120 --mode ocr
  mteb-nano run --data MY_DATASET -m MODEL               a folder that the builders made
  mteb-nano data                                         what would be read, and is it complete
  mteb-nano check MY_DATASET                             every fault of a dataset folder
  mteb-nano report results                               tables with intervals, for a model card
  mteb-nano compare results/results/A results/results/B  paired, on the same queries
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command."""
    parser = argparse.ArgumentParser(
        prog="mteb-nano",
        description="NanoViDoRe v3 and OCR-MLDR for mteb.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mteb-nano {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (demo, run, data, check):
        module.add_parser(commands)
    report.add_parsers(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 2 for input that cannot be used."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name that the terminal's encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    args, rest = build_parser().parse_known_args(argv)
    if rest and not getattr(args, "passes_on", False):
        build_parser().error(f"unrecognized arguments: {' '.join(rest)}")
    args.rest = rest
    try:
        return args.run(args)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on where it stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `mteb-nano data | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
