"""The command line of `python -m builders.vidore`."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from builders.vidore.recipe import DEFAULT_MINER, DEFAULT_MINER_REVISION, SHARD_PAGES, Recipe
from mteb_nano.errors import UserError

COMMANDS = ("build", "sample", "mine", "assemble", "verify", "replay")

_ABOUT = """\
Build a small page-retrieval benchmark from large ones, by the rules of NanoViDoRe v3.

  build     all steps: sample, mine, assemble (the command when none is named)
  sample    choose the queries                          -> WORK/sample.json
  mine      rank hard negatives (the step for a GPU)    -> WORK/candidates/
  assemble  fill the pool and write the dataset         -> OUT
  verify    check a built folder against every rule of the card, from the data alone
  replay    rebuild from the queries of a published dataset and compare every count
"""

_EXAMPLES = """\
examples:
  # NanoViDoRe v3 from the 8 public datasets (needs the Hub and a GPU)
  python -m builders.vidore --out nano_vidore_v3

  # the same kind of benchmark from your own folders, without a GPU
  python -m builders.vidore --sources reports/* --miner mteb/baseline-bm25s \\
      --queries-per-source 20 --pool-size 500 --name OurReports --out our_reports

  # what would be sampled, and how much there is to do
  python -m builders.vidore --out nano_vidore_v3 --dry-run

  # step by step, the middle one on another machine
  python -m builders.vidore sample --work w
  python -m builders.vidore mine --work w
  python -m builders.vidore assemble --work w --name NanoViDoReV3 --out nano_vidore_v3
"""


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Return the options; `command` names the step."""
    if not arguments or arguments[0] not in (*COMMANDS, "-h", "--help"):
        arguments = ["build", *arguments]
    parser = argparse.ArgumentParser(
        "python -m builders.vidore",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        sub = commands.add_parser(
            command, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EXAMPLES
        )
        if command == "verify":
            sub.add_argument("folder", type=Path, help="a dataset folder")
            continue
        if command == "replay":
            sub.add_argument("published", help="a dataset folder, or its id on the Hub")
        _add_step_options(sub, command)
    return parser.parse_args(arguments)


def _add_step_options(sub: argparse.ArgumentParser, command: str) -> None:
    """Add the options of the steps that a command runs."""
    everything = command in ("build", "replay")
    sub.add_argument(
        "--sources",
        nargs="+",
        default=[],
        metavar="[NAME=]PLACE",
        help="folders or Hub datasets in ViDoRe v3's schema; default: the 8 public ones",
    )
    sub.add_argument("--work", type=Path, help="folder for the steps' files; default: OUT.work")
    sub.add_argument("--quiet", action="store_true", help="print errors only")
    if everything or command == "sample":
        sub.add_argument("--seed", type=int, default=Recipe.seed)
    if command in ("build", "sample"):
        sub.add_argument(
            "--queries-per-source",
            default=str(Recipe.queries_per_source),
            metavar="N|all|NAME=N,...",
        )
        sub.add_argument("--dry-run", action="store_true", help="say what would be done, and stop")
    if everything or command in ("mine", "assemble"):
        sub.add_argument("--top-k", type=int, default=Recipe.top_k, help="candidates a query")
    if everything or command == "mine":
        _add_miner_options(sub)
    if everything or command == "assemble":
        sub.add_argument(
            "--empty-pages",
            choices=("same", "distinct", "drop"),
            default=Recipe.empty_pages,
            help="whether unjudged pages without text are copies of one another (the published "
            "rule), all different, or left out",
        )
    if command in ("build", "assemble"):
        sub.add_argument("--out", type=Path, required=True, help="the dataset folder")
        sub.add_argument(
            "--name", help="the task's name; default NanoViDoReV3 for the 8 public ones"
        )
        sub.add_argument(
            "--pool-size",
            default=str(Recipe.pool_size),
            metavar="PAGES|all",
            help="pages in all; all: the positives and each query's --top-k candidates",
        )
        sub.add_argument("--overwrite", action="store_true", help="replace the dataset in OUT")


def _add_miner_options(sub: argparse.ArgumentParser) -> None:
    """Add the options of the step `mine`."""
    sub.add_argument(
        "--miner",
        default=DEFAULT_MINER,
        help=f"an mteb model by name, or the folder of a ColQwen3.5 model; default {DEFAULT_MINER}",
    )
    sub.add_argument("--miner-revision", help="default: the one that mteb pins")
    sub.add_argument("--visual-tokens", type=int, help="most visual tokens a page; default: all")
    sub.add_argument("--batch-size", type=int, default=8, help="pages encoded together")
    sub.add_argument(
        "--shard-pages", type=int, default=SHARD_PAGES, help="pages in a file of embeddings"
    )
    sub.add_argument("--device", help="cuda, cuda:1, cpu; default: cuda where there is one")
    sub.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="ray: spread blocks of pages over the cluster's GPUs (late-interaction miners)",
    )
    sub.add_argument("--workers", type=int, help="ray: how many encoders; default: one a GPU")


def recipe_of(options: argparse.Namespace) -> Recipe:
    """Return the recipe that the options describe.

    Raises:
        UserError: A number is out of range, or --queries-per-source cannot be read.
    """
    given = dict(vars(options))
    if "pool_size" in given and given["pool_size"] != "all":
        if not str(given["pool_size"]).isdecimal():
            raise UserError(f"--pool-size {given['pool_size']}: expected a number or `all`")
        given["pool_size"] = int(given["pool_size"])
    for key in ("pool_size", "top_k", "visual_tokens", "batch_size", "shard_pages", "workers"):
        if given.get(key) not in (None, "all") and given[key] < 1:
            raise UserError(f"--{key.replace('_', '-')} must be at least 1, got {given[key]}")
    revision = given.get("miner_revision")
    if given.get("miner") == DEFAULT_MINER and not revision:
        revision = DEFAULT_MINER_REVISION
    known = ("pool_size", "top_k", "seed", "empty_pages", "miner", "visual_tokens")
    return Recipe(
        queries_per_source=_queries(given.get("queries_per_source") or "all"),
        miner_revision=revision,
        **{key: given[key] for key in known if key in given},
    )


def _queries(text: str) -> int | Literal["all"] | Mapping[str, int]:
    """Return what --queries-per-source means."""
    if text == "all":
        return "all"
    try:
        if text.isdigit() and int(text) > 0:
            return int(text)
        pairs = [pair.split("=") for pair in text.split(",")]
        sizes = {name: int(n) for name, n in pairs}
    except ValueError:
        sizes = {}
    if not sizes or min(sizes.values()) < 1:
        raise UserError(
            f"--queries-per-source {text}: expected a number, `all`, or NAME=N,NAME=N,..."
        )
    return sizes
