"""`python -m builders.ocr_mldr`: clean documents and queries -> a dataset with OCR noise."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from builders.extras import needs_extra
from builders.ocr_mldr.progress import Progress
from builders.ocr_mldr.recipes import RECIPES, recipe_named
from mteb_nano.errors import UserError

with needs_extra("builders"):
    from builders.ocr_mldr import build, probe, verify
    from builders.ocr_mldr.options import LANGUAGES, MLDR, SETTINGS, SHARD_SENTENCES, Options

EXAMPLES = """\
examples:
  The whole benchmark, as published (see --dry-run for what it costs):
    python -m builders.ocr_mldr --out out/ocr_mldr --workers 16
  What would it cost? Nothing is written.
    python -m builders.ocr_mldr --out out/ocr_mldr --langs de fr --dry-run
  To try it out: one language, one size, Debian's model files.
    python -m builders.ocr_mldr --out out/try --langs de --settings 120/10 --docs 200 --recipe fast
  A quality of your own:
    python -m builders.ocr_mldr --out out/fine --dpi 200 --font-size 11
  Texts of your own, in TEXTS/de/*.txt with TEXTS/de/queries.jsonl and TEXTS/de/qrels/test.tsv:
    python -m builders.ocr_mldr --source TEXTS --out out/mine --name MyOCR --langs de
  Texts only? Cut passages and known-item queries from them first:
    python -m builders.ocr_mldr.known_items TEXTS --out PASSAGES --langs de
  On a Ray cluster:
    python -m builders.ocr_mldr --out out/ocr_mldr --engine ray --address auto --workers 200
  Is a folder what its manifest says?
    python -m builders.ocr_mldr --verify out/ocr_mldr/manifest.json
Run the same command again after any interruption: it goes on where it stopped.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    recipes = "; ".join(f"{r.name}: {r.summary}" for r in RECIPES.values())
    p = argparse.ArgumentParser(
        prog="python -m builders.ocr_mldr",
        description="Rebuild OCR-MLDR, or make a dataset like it from any corpus: sentences are "
        "drawn as images, read by Tesseract, and joined to documents and queries again.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    data = p.add_argument_group("data")
    data.add_argument("--out", type=Path, metavar="FOLDER", help="dataset folder to make")
    data.add_argument("--name", default="OCRMLDRRebuilt", help="name of the task (%(default)s)")
    data.add_argument("--source", default=MLDR, help="Hub dataset or folder (%(default)s)")
    data.add_argument("--source-revision", metavar="COMMIT", help="of a Hub dataset")
    data.add_argument("--split", default="test", help="of the source (%(default)s)")
    data.add_argument("--license", help="of the source's texts, as the Hub names it")
    data.add_argument("--langs", nargs="+", default=list(LANGUAGES), metavar="LANG")
    data.add_argument(
        "--docs", type=int, default=2000, metavar="N", help="a language (%(default)s)"
    )
    data.add_argument("--seed", type=int, default=0, help="of the draw of documents (%(default)s)")
    noise = p.add_argument_group("noise")
    noise.add_argument("--recipe", default="published", help=f"{recipes} (default: %(default)s)")
    noise.add_argument(
        "--settings", nargs="+", metavar="S", help=f"dpi120_font10 or 120/10 ({' '.join(SETTINGS)})"
    )
    noise.add_argument(
        "--dpi", type=int, metavar="N", help="with --font-size: one setting of your own"
    )
    noise.add_argument("--font-size", type=int, metavar="POINTS", help="with --dpi")
    noise.add_argument("--font", type=Path, help="font file (default: Liberation Serif)")
    noise.add_argument("--tessdata", type=Path, metavar="FOLDER", help="of *.traineddata files")
    noise.add_argument("--ocr-engine", metavar="MODULE:NAME", help="another engine than Tesseract")
    noise.add_argument(
        "--on-missing-glyph",
        choices=("error", "drop", "keep-clean"),
        default="error",
        help="characters that the font lacks (default: %(default)s)",
    )
    work = p.add_argument_group("work")
    work.add_argument("--workers", type=int, default=1, metavar="N", help="processes (%(default)s)")
    work.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="ray: a cluster whose nodes have mteb-nano, and model files at the same paths",
    )
    work.add_argument(
        "--address", help="of a running Ray cluster; without it a Ray is started here"
    )
    work.add_argument(
        "--work", type=Path, metavar="FOLDER", help="finished shards; kept if named (OUT.work)"
    )
    work.add_argument("--shard-sentences", type=int, default=SHARD_SENTENCES, metavar="N")
    again = work.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="go on where a run stopped (default)")
    again.add_argument("--fresh", action="store_true", help="start over, and replace the folder")
    work.add_argument("--dry-run", action="store_true", help="say what it would cost, and stop")
    work.add_argument("--verify", type=Path, metavar="MANIFEST", help="check a folder, and stop")
    work.add_argument("--quiet", action="store_true", help="no progress bar, no summary")
    return p


def options_from(args: argparse.Namespace) -> Options:
    """Return the options that a command line stands for.

    Raises:
        UserError: A recipe or setting is unknown, or --out is missing.
    """
    if args.out is None:
        raise UserError("--out FOLDER is needed: where the dataset is to be made")
    recipe = recipe_named(args.recipe)
    if args.font:
        recipe = replace(recipe, font=str(args.font.absolute()))
    return Options(
        out=args.out,
        recipe=recipe,
        name=args.name,
        source=args.source,
        revision=args.source_revision,
        split=args.split,
        license=args.license,
        langs=tuple(args.langs),
        settings=tuple(recipe.setting(name) for name in _settings(args)),
        n_documents=args.docs,
        seed=args.seed,
        on_missing_glyph=args.on_missing_glyph,
        ocr_engine=args.ocr_engine,
        tessdata=args.tessdata,
        workers=args.workers,
        engine=args.engine,
        address=args.address,
        shard_sentences=args.shard_sentences,
        work=args.work,
        fresh=args.fresh,
    )


def _settings(args: argparse.Namespace) -> Sequence[str]:
    size = (args.dpi, args.font_size)
    if size == (None, None):
        return args.settings or SETTINGS
    if args.settings or None in size:
        raise UserError("--dpi and --font-size go together, in place of --settings")
    return [f"{args.dpi}/{args.font_size}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 (not verified), 2 (cannot), 130 (Ctrl-C)."""
    args = parser().parse_args(arguments)
    try:
        if args.verify:
            return _verify(args.verify, args.out)
        options = options_from(args)
        if args.dry_run:
            _dry_run(options)
        else:
            say = (lambda _: None) if args.quiet else print
            build.run(options, progress=Progress(quiet=args.quiet), say=say)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


def _dry_run(options: Options) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        build.prepared(options, Path(folder)) as prepared,
    ):
        for line in probe.estimate(prepared):
            print(line)


def _verify(manifest: Path, folder: Path | None) -> int:
    faults, differences = verify.verify(manifest, folder)
    for line in differences:
        print(f"note: {line}")
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"{folder or manifest}: is what its manifest says")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
