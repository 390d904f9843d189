"""The main path: source -> plans -> shards -> parquet -> dataset folder."""

import contextlib
import fcntl
import json
import shutil
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from builders.engine import Shard, run_shards
from builders.export import TableSource, write_dataset
from builders.ocr_mldr import card
from builders.ocr_mldr.assemble import Rates, Recognized, qrels_table, write_texts
from builders.ocr_mldr.glyphs import describe_missing, glyphs_of, missing_glyphs
from builders.ocr_mldr.models import find_models
from builders.ocr_mldr.options import MLDR, MLDR_REVISION, SHARD_SENTENCES, Options
from builders.ocr_mldr.plan import KINDS, Plan, make_plan
from builders.ocr_mldr.progress import Progress
from builders.ocr_mldr.recipes import Setting
from builders.ocr_mldr.recognize import OcrEngine
from builders.ocr_mldr.shards import EngineSpec, ShardMaker, recognize_shard, versions_of
from builders.ocr_mldr.sources import open_source
from mteb_nano.errors import UserError
from mteb_nano.manifest import dump_manifest, read_manifest, verify_files

Cell = tuple[str, str]  # language and setting's name


@dataclass
class Build:
    """What is known before the first image: plans, engine, and the names of all shards."""

    options: Options
    plans: dict[str, Plan]
    maker: ShardMaker
    opened: OcrEngine
    made_from: dict[str, Any]
    missing: dict[str, dict[str, Any]]
    keys: dict[Cell, list[str]] = field(default_factory=dict)

    @property
    def cells(self) -> list[tuple[str, Setting]]:
        """Languages and settings; by language, since opening one costs a worker a second."""
        return [(lang, setting) for lang in self.plans for setting in self.options.settings]

    def manifest(self) -> dict[str, Any]:
        """Return the manifest but for the error rates and the files."""
        return card.manifest(
            self.options,
            counts={lang: plan.counts for lang, plan in self.plans.items()},
            made_from=self.made_from,
            engine=self.maker.identity,
            missing=self.missing,
            grades={qrel.score for plan in self.plans.values() for qrel in plan.qrels},
        )


@contextlib.contextmanager
def prepared(options: Options, folder: Path) -> Generator[Build]:
    """Give a build with its plans made in `folder`; nothing is recognised yet.

    Raises:
        UserError: Something in the options, the source, the font or the language files is wrong.
    """
    options.check()
    font = options.recipe.font_path
    glyphs_of(font)
    spec, engine = _open_engine(options)
    source = open_source(options.source, split=options.split, revision=_revision(options))
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as open_plans:
        plans: dict[str, Plan] = {}
        for lang in options.langs:
            plans[lang] = make_plan(
                folder / f"{lang}.sqlite",
                source,
                lang,
                n_documents=options.n_documents,
                seed=options.seed,
                max_chars=options.recipe.max_sentence_chars,
            )
            open_plans.callback(plans[lang].close)
        missing = _check_glyphs(plans, options)
        made_from = {
            **source.describe(),
            "sha256": {lang: plan.sha256 for lang, plan in plans.items()},
        }
        maker = ShardMaker(
            spec, options.on_missing_glyph, options.shard_sentences, engine.describe()
        )
        yield Build(options, plans, maker, engine, made_from, missing)


def run(options: Options, *, progress: Progress, say: Callable[[str], None]) -> Path:
    """Build the dataset folder and return it.

    Finished shards in the work folder are used again, unless `options.fresh`.

    Raises:
        UserError: Anything a person can mend; finished shards stay where they are.
    """
    work = options.work_folder
    # Arrow's own allocator holds more the more row groups were written; the system's does not.
    pa.set_memory_pool(pa.system_memory_pool())
    with _disk_faults_named(work), _locked(work):
        if options.fresh:
            shutil.rmtree(work / "shards", ignore_errors=True)
        with _removed(work / "plan") as folder, prepared(options, folder) as build:
            manifest = build.manifest()
            if not options.fresh and _is_built(options.out, manifest):
                say(f"{options.out}: is built already, nothing to do (--fresh builds it again)")
                return options.out
            _recognize(build, work / "shards", progress)
            rates, tables = _assemble(build, work / "shards", folder)
            manifest |= {"cer": card.rates_for_manifest(rates)}
            write_dataset(
                options.out,
                manifest=manifest,
                tables=tables,
                card=card.dataset_card(manifest),
                overwrite=options.fresh,
            )
    if options.work is None:
        shutil.rmtree(work, ignore_errors=True)
    for line in card.summary(manifest):
        say(line)
    return options.out


def _revision(options: Options) -> str | None:
    if options.source == MLDR and options.revision is None:
        return MLDR_REVISION
    return options.revision


def _open_engine(options: Options) -> tuple[EngineSpec, OcrEngine]:
    models = ()
    if options.ocr_engine is None:
        found = find_models(options.langs, options.recipe, folder=options.tessdata)
        models = tuple(sorted(found.items()))
    spec = EngineSpec(options.recipe, models, options.ocr_engine)
    engine = spec.open()
    return replace(spec, versions=tuple(versions_of(engine).items())), engine


def _check_glyphs(plans: Mapping[str, Plan], options: Options) -> dict[str, dict[str, Any]]:
    font = options.recipe.font_path
    missing = {lang: sorted(missing_glyphs(plan.characters, font)) for lang, plan in plans.items()}
    if options.on_missing_glyph == "error":
        faults = [describe_missing(c, font, lang) for lang, c in missing.items() if c]
        if faults:
            raise UserError("\n".join(faults))
    return {
        lang: {"characters": characters, "sentences": _n_with(set(characters), plans[lang])}
        for lang, characters in missing.items()
        if characters
    }


def _n_with(characters: set[str], plan: Plan) -> int:
    shards = plan.shards(SHARD_SENTENCES)
    return sum(not characters.isdisjoint(sentence) for shard in shards for sentence in shard)


def _is_built(out: Path, manifest: Mapping[str, Any]) -> bool:
    if not out.exists():
        return False
    if not out.is_dir() or not any(out.iterdir()):
        return False
    found = read_manifest(out)
    manifest = json.loads(dump_manifest(manifest))  # as it would come back from a file
    wrong = sorted(k for k, v in manifest.items() if found.get(k) != v)
    if not wrong:
        faults = verify_files(out, manifest=found)
        if not faults:
            return True
        raise UserError("\n".join([f"{out}: is not what its manifest says", *faults]))
    raise UserError(
        f"{out}: holds another dataset (its {', '.join(wrong)} differ): name another --out, or "
        "replace it with --fresh"
    )


@contextlib.contextmanager
def _disk_faults_named(work: Path) -> Generator[None]:
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        raise UserError(
            f"{work}: cannot be written: {error}; mend that and run the same command again, "
            "finished shards are kept"
        ) from error


@contextlib.contextmanager
def _locked(work: Path) -> Generator[None]:
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"{work}: another run is at work there; wait for it") from None
        try:
            yield
        finally:
            if [path.name for path in work.iterdir()] == ["lock"]:
                shutil.rmtree(work)  # nothing was made: nothing stays


@contextlib.contextmanager
def _removed(folder: Path) -> Generator[Path]:
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _recognize(build: Build, folder: Path, progress: Progress) -> None:
    options = build.options
    n_cells = len(options.settings)
    total = n_cells * sum(plan.n_sentences for plan in build.plans.values())
    sizes: dict[str, int] = {}

    def shards() -> Iterator[Shard]:
        for lang, setting in build.cells:
            keys = build.keys[lang, setting.name] = []
            for shard in build.maker.shards(build.plans[lang], lang, setting):
                keys.append(shard.key)
                sizes[shard.key] = len(shard.payload.sentences)
                yield shard

    with progress.over(total):
        done = run_shards(
            recognize_shard,
            shards(),
            folder,
            workers=options.workers,
            engine=options.engine,
            address=options.address,
        )
        with contextlib.closing(done):
            for key, content in done:
                progress.advance(sizes.pop(key, 0), content)


def _assemble(
    build: Build, shards: Path, folder: Path
) -> tuple[dict[tuple[str, str, str], Rates], dict[str, TableSource]]:
    rates: dict[tuple[str, str, str], Rates] = {}
    tables: dict[str, TableSource] = {}
    size = build.options.shard_sentences
    for lang, setting in build.cells:
        plan = build.plans[lang]
        cell = f"{lang}_{setting.name}"
        recognized = Recognized(shards, build.keys[lang, setting.name], size)
        for kind in KINDS:
            path = folder / f"{cell}_{kind}.parquet"
            rates[lang, setting.name, kind] = write_texts(plan, kind, recognized, path)
            tables[card.table_path(cell, kind)] = _copier(path)
        tables[card.table_path(cell, "qrels")] = qrels_table(plan)
    return rates, tables


def _copier(source: Path) -> Callable[[Path], None]:
    def copy(path: Path) -> None:
        shutil.copyfile(source, path)

    return copy
