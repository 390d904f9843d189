"""`mteb-nano run`: mteb's own run, with options for where the data are and which subsets."""

import argparse
import itertools
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mteb_nano import catalog
from mteb_nano.errors import UserError

_EPILOG = """All other options but -b are those of `mteb run` (see `mteb run --help`), for example
--output-folder, --batch-size, --prediction-folder, --overwrite-strategy, --device.

examples:
  mteb-nano run -t NanoViDoReV3 -m vidore/colqwen2.5-v0.2 --output-folder results
  mteb-nano run -t NanoViDoReV3 -m MODEL --dataset NanoViDoReV3=/data/NanoViDoRe_v3
  mteb-nano run -t OCRMLDR -m MODEL --dataset OCRMLDR=Psychias/ocr-mldr@main
  mteb-nano run -t OCRMLDR -m MODEL --langs de fr --dpi 120 --mode clean ocr
  mteb-nano run --data MY_DATASET -m mteb/baseline-bm25s
"""


def add_parser(commands: Any) -> None:
    """Add the options."""
    parser = commands.add_parser(
        "run",
        help="mteb's own run, with options for the data and the subsets",
        description=__doc__,
        epilog=_EPILOG,
        allow_abbrev=False,  # `--out` is mteb's to complete, not ours
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-m", "--model", required=True, help="model name, as for mteb")
    parser.add_argument("-t", "--tasks", nargs="+", metavar="TASK", default=[])
    parser.add_argument(
        "--data", action="append", default=[], metavar="FOLDER", help="a dataset folder as a task"
    )
    parser.add_argument(
        "--dataset",
        action="append",
        default=[],
        metavar="NAME=PLACE",
        help="read a folder, or a Hub repository (org/name[@revision]), in place of the published",
    )
    parser.add_argument("--langs", nargs="+", metavar="LANG", help="OCR tasks: languages")
    parser.add_argument("--dpi", nargs="+", metavar="DPI", help="OCR tasks: 120 or dpi120_font10")
    parser.add_argument("--mode", nargs="+", choices=tuple(catalog.MODES), help="OCR tasks: modes")
    parser.set_defaults(run=run, passes_on=True)


def run(args: argparse.Namespace) -> int:
    """Put the data in place, check that the model fits, and hand over to mteb."""
    _put_in_place(args.data, args.dataset)
    import mteb
    from mteb.cli.build_cli import build_cli
    from rich.logging import RichHandler

    from mteb_nano import registry

    # As mteb's own command logs.
    logging.basicConfig(format="%(message)s", handlers=[RichHandler(show_path=False)])
    registry.register()  # for installs that run no `.pth` files, and for MTEB_NANO_DISABLE
    modalities = _modalities_of(args.model)
    tasks = args.tasks or _tasks_of_folders(args.data, modalities)
    _check_tasks(tasks, args.model, modalities)
    _select_subsets(args, tasks)
    argv = ["run", "-m", args.model, "-t", *tasks, *args.rest]
    mteb_args = build_cli().parse_args(argv)
    if mteb_args.languages and not mteb.get_tasks(tasks=tasks, languages=mteb_args.languages):
        raise UserError(f"-l {' '.join(mteb_args.languages)}: no task has such a language")
    mteb_args.func(mteb_args)
    return 0


def _modalities_of(model: str) -> Sequence[str] | None:
    import mteb

    try:
        return mteb.get_model_meta(model, fetch_from_hf=False).modalities
    except KeyError:  # not registered: mteb loads it from the Hub or a folder, and looks then
        return None


def _put_in_place(folders: Sequence[str], places: Sequence[str]) -> None:
    """Say by environment variable what the options say, so that both are one mechanism."""
    from mteb_nano.folder_tasks import VARIABLE
    from mteb_nano.manifest import read_manifest

    published = {row.name: row for row in catalog.PUBLISHED}
    others = []
    for folder in map(_resolved, folders):
        name = read_manifest(folder)["name"]  # raises what is wrong
        if name in published:  # a rebuilt one: without this, the published data would be read
            os.environ[published[name].variable] = str(folder)
        else:
            others.append(str(folder))
    if others:
        before = filter(None, [os.environ.get(VARIABLE)])
        os.environ[VARIABLE] = os.pathsep.join([*others, *before])
    for entry in places:
        name, _, place = entry.partition("=")
        if name not in published or not place:
            names = ", ".join(published)
            raise UserError(f"--dataset {entry}: expected NAME=PLACE, NAME one of {names}")
        os.environ[published[name].variable] = place


def _resolved(folder: str) -> Path:
    path = Path(folder).expanduser().resolve()
    if os.pathsep in str(path):
        raise UserError(f"--data {folder}: the path must not hold `{os.pathsep}`: use a link to it")
    return path


def _tasks_of_folders(folders: Sequence[str], modalities: Sequence[str] | None) -> list[str]:
    """Return the task of each folder that fits the model: pages as images if it reads images."""
    from mteb_nano.folder_tasks import tasks_of

    names = []
    for folder in folders:
        tasks = [t.metadata for t in tasks_of(_resolved(folder))]
        reads_images = "image" in (modalities or ())
        fitting = [t for t in tasks if ("image" in t.modalities) == reads_images] or tasks
        names.append(fitting[0].name)
        _require_from(_resolved(folder), fitting[0].name)
    if not names:
        raise UserError(
            "which task? give -t TASK or --data FOLDER (mteb-nano data lists them); "
            "for a benchmark use mteb run -b"
        )
    return list(dict.fromkeys(names))


def _require_from(folder: Path, task: str) -> None:
    """Raise when another task bears the name of a folder's: mteb would run that one instead."""
    import mteb

    from mteb_nano.locate import place_of

    row = getattr(mteb.get_task(task), "row", None)
    if row is None or place_of(row).folder != folder:
        raise UserError(f"{folder}: another task is named {task}; change `name` in its manifest")


def _check_tasks(tasks: Sequence[str], model: str, modalities: Sequence[str] | None) -> None:
    import mteb

    from mteb_nano.modality import mismatch

    for task in tasks:
        try:
            mteb.get_task(task)
        except KeyError as error:
            raise UserError(f"-t {task}: {error.args[0]} (mteb-nano data lists ours)") from None
        if line := mismatch(model, modalities, task):
            raise UserError(line)


def _select_subsets(args: argparse.Namespace, tasks: Sequence[str]) -> None:
    """Turn --langs, --dpi and --mode into globs of subset names."""
    import mteb

    from mteb_nano.ocr_mldr import OcrTask
    from mteb_nano.task import SUBSETS_VARIABLE

    if not (args.langs or args.dpi or args.mode):
        return
    globs: list[str] = []
    for name in tasks:
        task = mteb.get_task(name)
        if not isinstance(task, OcrTask):
            raise UserError(f"--langs, --dpi and --mode are for OCR tasks; {name} is none")
        _require_known("--langs", args.langs, task.row.languages)
        dpis = [_setting(dpi, task.row.settings) for dpi in args.dpi or task.row.settings]
        _require_known("--dpi", dpis, task.row.settings)
        chosen = itertools.product(args.langs or ["*"], dpis, args.mode or ["*"])
        globs += map("_".join, chosen)
    os.environ[SUBSETS_VARIABLE] = ",".join(dict.fromkeys(globs))


def _setting(dpi: str, settings: Sequence[str]) -> str:
    found = [setting for setting in settings if setting.startswith(f"dpi{dpi}_")]
    return found[0] if len(found) == 1 else dpi


def _require_known(option: str, given: Sequence[str] | None, known: Sequence[str]) -> None:
    unknown = [value for value in given or () if value not in known]
    if unknown:
        raise UserError(f"{option} {' '.join(unknown)}: unknown; expected {', '.join(known)}")
