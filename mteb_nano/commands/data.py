"""`mteb-nano data`: what each benchmark would read, whether it is complete, and which revision."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mteb_nano import catalog
from mteb_nano.errors import UserError

_EPILOG = """To use other data in place of the published ones, set the variable in the table to a
folder or to a Hub repository, or use `mteb-nano run --dataset NAME=PLACE`:
  MTEB_NANO_NANOVIDOREV3=/data/NanoViDoRe_v3 mteb run -t NanoViDoReV3 -m MODEL
  MTEB_NANO_OCRMLDR=my-org/my-copy@main mteb run -t OCRMLDR -m MODEL
Folders that the builders made become tasks of their own:
  MTEB_NANO_DATA=/data/mine:/data/other mteb run -t NameInTheManifest -m MODEL

examples:
  mteb-nano data
  mteb-nano data --fetch NanoViDoReV3        download now, run later with HF_HUB_OFFLINE=1
"""


def add_parser(commands: Any) -> None:
    """Add the options."""
    parser = commands.add_parser(
        "data",
        help="what would be read, and is it complete",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--fetch", metavar="NAME", help="download a published dataset")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from mteb_nano import locate

    rows = known_datasets()
    if args.fetch:
        named = [row for row in rows if row.name == args.fetch]
        if not named:
            raise UserError(
                f"--fetch {args.fetch}: expected one of {', '.join(r.name for r in rows)}"
            )
        print(locate.fetch(named[0]))
        return 0
    table = Table.grid(padding=(0, 2))
    for row in rows:
        table.add_row(f"[bold]{row.task_names[0]}[/]", "  ".join(row.task_names[1:]))
        for label, text in describe(row).items():
            table.add_row(f"  {label}", Text(text))
    table.add_row("[bold]start-up hook[/]", Text(hook_state()))
    # A pipe has no width: 80 columns would break the paths.
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    return 0


def hook_state() -> str:
    """Return whether plain `mteb run` sees our tasks."""
    startup = sys.modules.get("_mteb_nano_startup")
    if startup is None:
        return "not active: call mteb_nano.register() after `import mteb`, or use mteb-nano run"
    faults = [f"{name}: {state}" for name, state in startup.STATUS.items() if state != "ok"]
    return "; ".join(faults) or "active: plain `mteb run` sees our tasks"


def known_datasets() -> list[catalog.Dataset]:
    """Return the published datasets, the sample, and the folders in `MTEB_NANO_DATA`."""
    from mteb_nano import registry

    rows = [task.row for task in registry.tasks()]
    return list({row.name: row for row in rows}.values())


def describe(row: catalog.Dataset) -> dict[str, str]:
    """Return where a dataset is read from, its state, revision, licence and size, as text."""
    from mteb_nano import locate

    licence = row.license or "several"
    about: dict[str, str] = {}
    try:
        place = locate.place_of(row)
        about["read from"] = f"{place}" + (f" (by {row.variable})" if place.foreign else "")
        folder = place.folder or locate.cached_snapshot(place)
        if folder is None:
            state = f"not downloaded yet: mteb-nano data --fetch {row.name}"
            return {**about, "state": state, "licence": licence, "size": size_of(row, row.counts)}
        counts = counts_in(row, folder)
        revision = locate.revision_of(row) if place.folder else folder.name
        state = "; ".join(lacks(row, folder, counts)) or "complete"
        if state.startswith("incomplete") and place.folder is None:
            state += f"; mteb-nano data --fetch {row.name}"
    except UserError as error:
        return {**about, "at fault": str(error)}
    size = size_of(row, counts)
    licence += _licences_in(folder)
    return {**about, "state": state, "revision": revision, "licence": licence, "size": size}


def _licences_in(folder: Path) -> str:
    """Return the licences of a mixture, which its manifest lists."""
    from mteb_nano import manifest

    if not (folder / manifest.FILE_NAME).is_file():
        return ""
    listed = manifest.read_manifest(folder).get("licenses")
    return f" ({'; '.join(map(str, listed))})" if isinstance(listed, list) else ""


def configs_of(row: catalog.Dataset) -> list[str]:
    """Return the names of the configs that a dataset has."""
    if row.kind == "page-retrieval":
        return list(catalog.PARTS)
    pairs = dict.fromkeys(subset.rsplit("_", 1)[0] for subset in row.subsets)
    return [f"{pair}_{part}" for pair in pairs for part in catalog.PARTS]


def counts_in(row: catalog.Dataset, folder: Path) -> dict[str, int]:
    """Return the rows of each config that is there, or of each language, as `Dataset.counts`."""
    from mteb_nano import tables

    counts: dict[str, int] = {}
    for config in configs_of(row):
        if files := tables.find_files(folder, config):
            first, _, last = config.partition("_")
            key = f"{first}_{last.rsplit('_', 1)[-1]}" if last else config
            # Every setting has the same texts of a language.
            counts.setdefault(key, tables.n_rows(files))
    return counts


def lacks(row: catalog.Dataset, folder: Path, counts: Mapping[str, int]) -> list[str]:
    """Return what makes a dataset incomplete: configs without a file, counts not as declared."""
    from mteb_nano import read, schema, tables

    missing = [c for c in configs_of(row) if not tables.find_files(folder, c)]
    if missing:
        return [f"incomplete, lacks {schema.some(missing)}"]
    return schema.count_faults(counts, read.as_found(row, folder))


def size_of(row: catalog.Dataset, counts: Mapping[str, int]) -> str:
    """Return counts as text: `4,000 pages, 400 queries`."""
    if row.kind == "page-retrieval":
        words = {"corpus": "pages", "judged": "judged pages"}
        sizes = [f"{n:,} {words.get(key, key)}" for key, n in counts.items()]
        return ", ".join([f"{len(row.sources)} sources", *sizes])
    sizes = [
        f"{sum(n for key, n in counts.items() if key.endswith(part)):,} {word}"
        for part, word in {"_corpus": "documents", "_queries": "queries"}.items()
    ]
    grid = f"{len(row.languages)} languages x {len(row.settings)} settings"
    return ", ".join([grid, *sizes]) + " in each setting"
