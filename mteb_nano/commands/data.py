"""`mteb-nano data`: what each benchmark would read, whether it is complete, and which revision."""

import argparse
from pathlib import Path
from typing import Any

from mteb_nano import catalog
from mteb_nano.errors import UserError

_EPILOG = """To use other data in place of the published ones, set the variable in the table to a
folder or to a Hub repository, or use `mteb-nano run --dataset NAME=PLACE`:
  MTEB_NANO_NANOVIDOREV3=/data/NanoViDoRe_v3 mteb run -t NanoViDoReV3 -m MODEL
  MTEB_NANO_OCRMLDR=Psychias/ocr-mldr@4f1c2ab mteb run -t OCRMLDR -m MODEL
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
    Console().print(table)
    return 0


def hook_state() -> str:
    """Return whether plain `mteb run` sees our tasks."""
    import sys

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

    licence = row.license or "several, see the data"
    try:
        place = locate.place_of(row)
        folder = place.folder or locate.cached_snapshot(place)
        about = {"read from": f"{place}" + (f" (by {row.variable})" if place.foreign else "")}
        if folder is None:
            state = f"not downloaded yet: mteb-nano data --fetch {row.name}"
            return {**about, "state": state, "licence": licence, "size": _size(row, None)}
        missing = missing_configs(row, folder)
        state = f"incomplete, lacks {', '.join(missing[:3])}" if missing else "complete"
        revision = locate.revision_of(row) if place.folder else folder.name
    except UserError as error:
        return {"at fault": str(error)}
    size = _size(row, folder)
    return {**about, "state": state, "revision": revision, "licence": licence, "size": size}


def missing_configs(row: catalog.Dataset, folder: Path) -> list[str]:
    """Return the configs that have no file."""
    from mteb_nano import tables

    if row.kind == "page-retrieval":
        configs = list(catalog.PARTS)
    else:
        pairs = dict.fromkeys(subset.rsplit("_", 1)[0] for subset in row.subsets)
        configs = [f"{pair}_{part}" for pair in pairs for part in catalog.PARTS]
    return [config for config in configs if not tables.find_files(folder, config)]


def _size(row: catalog.Dataset, folder: Path | None) -> str:
    from mteb_nano import manifest

    counts = dict(row.counts)
    if folder is not None and (folder / manifest.FILE_NAME).is_file():
        found = manifest.read_manifest(folder).get("counts", {})
        counts = {k: v for k, v in found.items() if isinstance(v, int)}
    if row.kind == "ocr-retrieval":
        subsets = f"{len(row.languages)} languages x {len(row.settings)} settings"
        return ", ".join([subsets, *_sums(counts)])
    return ", ".join([f"{len(row.sources)} sources", *(f"{v:,} {k}" for k, v in counts.items())])


def _sums(counts: dict[str, int]) -> list[str]:
    return [
        f"{sum(v for k, v in counts.items() if k.endswith(part)):,} {part}"
        for part in ("corpus", "queries")
        if any(k.endswith(part) for k in counts)
    ]
