"""`python -m builders.vidore`: sources -> sample -> mine -> select -> dataset folder."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from builders.extras import needs_extra
from builders.vidore.options import parse_options, recipe_of
from builders.vidore.sources import Source
from mteb_nano.catalog import NANO_VIDORE_V3
from mteb_nano.errors import UserError
from mteb_nano.manifest import is_task_name

Report = Callable[[str], None]


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 a check failed, 2 unusable input."""
    options = parse_options(sys.argv[1:] if arguments is None else arguments)
    if getattr(options, "quiet", True):
        # Read by the progress bars of the libraries when they are imported.
        os.environ.setdefault("TQDM_DISABLE", "1")
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    commands = {
        "build": _build,
        "sample": _sample,
        "mine": _mine,
        "assemble": _assemble,
        "verify": _verify,
        "replay": _replay,
    }
    try:
        with needs_extra("builders"):
            return commands[options.command](options)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on where it was", file=sys.stderr)
        return 130


def _build(options: argparse.Namespace) -> int:
    """Run all steps."""
    from builders.vidore.assemble import check_texts

    options.name = _task_name(options)
    _check_out(options)
    sources = _sample_step(options)
    check_texts(sources, recipe_of(options))
    if options.dry_run:
        return 0
    _mine_step(options, sources)
    return _assemble_step(options, sources)


def _sample(options: argparse.Namespace) -> int:
    """Choose the queries."""
    _sample_step(options)
    return 0


def _mine(options: argparse.Namespace) -> int:
    """Rank the candidates."""
    _mine_step(options, _planned_sources(options))
    return 0


def _assemble(options: argparse.Namespace) -> int:
    """Fill the pool and write the dataset."""
    options.name = _task_name(options)
    _check_out(options)
    return _assemble_step(options, _planned_sources(options))


def _verify(options: argparse.Namespace) -> int:
    """Check a built folder."""
    from builders.vidore.verify import verify_folder

    checks = verify_folder(options.folder)
    for check in checks:
        print(check.line())
    return 0 if all(check.ok for check in checks) else 1


def _replay(options: argparse.Namespace) -> int:
    """Rebuild from the queries of a published dataset and compare."""
    from builders.vidore.assemble import select_pages
    from builders.vidore.built import read_built
    from builders.vidore.mining import read_mined
    from builders.vidore.origins import find_published, parse_origins, read_sources
    from builders.vidore.plan import replay_plan
    from builders.vidore.replay import (
        compare_counts,
        compare_rows,
        print_comparison,
        print_published_counts,
        published_query_ids,
    )

    recipe, work = recipe_of(options), _work(options)
    built = read_built(find_published(options.published))
    places = parse_origins(options.sources)
    sources = read_sources(places, report=_report(options))
    plan = replay_plan(sources, places, published_query_ids(built), recipe.seed)
    plan.save(work)
    _mine_step(options, sources)
    candidates, _ = read_mined(sources, plan, top_k=recipe.top_k, work=work)
    recipe = replace(recipe, pool_size="all" if built.holds_all else len(built.pages))
    selection = select_pages(sources, plan, candidates, recipe=recipe)
    is_published = options.published.partition("@")[0] == NANO_VIDORE_V3.hub_id
    rows = compare_counts(built, plan, selection, sources, is_published=is_published)
    same = print_comparison(rows, compare_rows(built, sources, plan, selection))
    print_published_counts(shown=is_published and not options.sources)
    return 0 if same else 1


def _sample_step(options: argparse.Namespace) -> Mapping[str, Source]:
    """Write the plan, or in a dry run print what it would be."""
    from builders.vidore.assemble import check_pool_size
    from builders.vidore.origins import parse_origins, read_sources
    from builders.vidore.plan import make_plan
    from builders.vidore.summary import print_plan

    recipe = recipe_of(options)
    places = parse_origins(options.sources)
    sources = read_sources(places, report=_report(options))
    plan = make_plan(sources, places, recipe)
    is_build = options.command == "build"
    if options.dry_run or not options.quiet:
        print_plan(plan, sources, recipe.pool_size if is_build else None)
    if is_build:
        check_pool_size(sources, plan, recipe)
    if not options.dry_run:
        plan.save(_work(options))
    return sources


def _planned_sources(options: argparse.Namespace) -> Mapping[str, Source]:
    """Return the sources of the plan in the work folder, checked to be the same."""
    from builders.vidore.origins import parse_origins, read_sources
    from builders.vidore.plan import check_sources, load_plan

    plan = load_plan(_work(options))
    planned = [f"{name}={about['place']}" for name, about in plan.sources.items()]
    sources = read_sources(parse_origins(options.sources or planned), report=_report(options))
    check_sources(plan, sources)
    return sources


def _mine_step(options: argparse.Namespace, sources: Mapping[str, Source]) -> None:
    """Write the candidates."""
    from builders.vidore.miners import make_miner
    from builders.vidore.mining import mine_sources
    from builders.vidore.plan import load_plan

    recipe, work = recipe_of(options), _work(options)
    miner = make_miner(recipe, work, options)
    mine_sources(
        sources, load_plan(work), miner, top_k=recipe.top_k, work=work, report=_report(options)
    )


def _assemble_step(options: argparse.Namespace, sources: Mapping[str, Source]) -> int:
    """Write the dataset folder."""
    from builders.vidore.assemble import select_pages, write_pool
    from builders.vidore.mining import read_mined
    from builders.vidore.plan import load_plan
    from builders.vidore.summary import print_pool

    recipe, work, report = recipe_of(options), _work(options), _report(options)
    plan = load_plan(work)
    candidates, miner = read_mined(sources, plan, top_k=recipe.top_k, work=work)
    report("find near-copies and fill the pool")
    selection = select_pages(sources, plan, candidates, recipe=recipe)
    report(f"write {options.out}")
    manifest = write_pool(
        options.out,
        sources,
        plan,
        selection,
        recipe=recipe,
        name=options.name,
        miner=miner,
        overwrite=options.overwrite,
    )
    if not options.quiet:
        print_pool(manifest)
        print(f"wrote {options.out}; check it with: python -m builders.vidore verify {options.out}")
    return 0


def _task_name(options: argparse.Namespace) -> str:
    """Return the task's name: NanoViDoReV3 is for the 8 public datasets."""
    if options.name:
        if not is_task_name(options.name):
            raise UserError(f"--name {options.name}: use letters, digits, `_`, `.` and `-` only")
        return options.name
    if not options.sources and options.command == "build":
        return "NanoViDoReV3"
    raise UserError("--name: give the new benchmark a name, such as --name OurReports")


def _check_out(options: argparse.Namespace) -> None:
    """Raise before anything costly is done if the dataset could not be written at the end."""
    out = options.out
    if not out.name:
        raise UserError(f"{out}: give the folder to make a name, such as --out mine")
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; --out names the folder to make")
    if out.exists() and not options.overwrite and any(out.iterdir()):
        raise UserError(f"{out}: exists already; name another folder, or use --overwrite")


def _work(options: argparse.Namespace) -> Path:
    """Return the folder of the steps' files."""
    if options.work:
        return options.work
    out = getattr(options, "out", None)
    if out is None:
        raise UserError(f"{options.command}: name the folder of the steps' files with --work")
    return out.with_name(out.name + ".work")


def _report(options: argparse.Namespace) -> Report:
    """Return what prints progress to stderr, unless it is to be quiet."""
    if options.quiet:
        return lambda _: None
    return lambda line: print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
