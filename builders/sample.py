"""Make the sample that the package carries, with the builders, from pages and texts in a folder.

    python -m builders.sample pages PAGES --out mteb_nano/sample/nano_vidore_v3
    python -m builders.sample texts TEXTS --out mteb_nano/sample/ocr_mldr

PAGES holds sources in ViDoRe v3's schema, a folder each; TEXTS holds LANG_*.txt. Both hold a file
LICENCE.md or README.md that says where they come from. The same input gives the same bytes.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from builders.export import replacing_folder
from builders.ocr_mldr import __main__ as ocr_mldr
from builders.ocr_mldr import known_items
from builders.vidore import __main__ as vidore
from builders.vidore import shrink
from mteb_nano.errors import UserError
from mteb_nano.manifest import FILE_NAME, dump_manifest, file_entry, read_manifest, sha256_of

VERSION = "1"  # results of the sample record it; raise it when its content changes
_MINER = "mteb/baseline-bm25s"
_QUERIES = "deb_edu_en=18,deb_install_en=18,deb_reference_fr=18,linuxcnc_en=4"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    args = parser().parse_args(arguments)
    try:
        licence = _licence_of(args.source)
        with tempfile.TemporaryDirectory() as scratch:
            built = Path(scratch) / "built"
            args.build(args, Path(scratch), built)
            _publish(built, args.source, args.out, licence)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"wrote {args.out}")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser; the defaults are those of the sample in the package."""
    p = argparse.ArgumentParser(
        "python -m builders.sample",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = p.add_subparsers(required=True, metavar="KIND")
    pages = kinds.add_parser("pages", help="a page dataset")
    pages.add_argument("--queries-per-source", default=_QUERIES, metavar="N|NAME=N,...")
    pages.add_argument("--pool-size", type=int, default=106, metavar="PAGES")
    pages.add_argument("--quality", type=int, default=45, help="of the page images, JPEG's")
    pages.set_defaults(build=build_pages)
    texts = kinds.add_parser("texts", help="an OCR dataset")
    texts.add_argument("--langs", nargs="+", default=["de", "en", "es", "fr", "ru"])
    texts.add_argument("--settings", nargs="+", default=["120/10", "130/10", "300/12"])
    texts.add_argument("--characters", type=int, default=7000, help="of each text, at most")
    texts.add_argument("--documents", type=int, default=12, help="a language")
    texts.add_argument("--queries", type=int, default=12, help="a language")
    texts.add_argument("--workers", type=int, default=1)
    texts.set_defaults(build=build_texts)
    for kind in (pages, texts):
        kind.add_argument("source", type=Path)
        kind.add_argument("--out", type=Path, required=True)
    return p


def build_pages(args: argparse.Namespace, scratch: Path, out: Path) -> None:
    """Shrink the page images, then build as any page dataset."""
    sources = [path for path in sorted(args.source.iterdir()) if (path / "corpus").is_dir()]
    small = scratch / "sources"
    quality = ["--quality", str(args.quality)]
    _run(shrink.main, [*map(str, sources), "--out", str(small), *quality])
    _run(
        vidore.main,
        [
            "build",
            *("--sources", *(str(small / path.name) for path in sources)),
            *("--miner", _MINER),
            *("--queries-per-source", args.queries_per_source),
            *("--pool-size", str(args.pool_size)),
            *("--name", "NanoViDoReV3Sample"),
            *("--work", str(scratch / "work")),
            *("--out", str(out)),
            "--quiet",
        ],
    )


def build_texts(args: argparse.Namespace, scratch: Path, out: Path) -> None:
    """Cut long documents and known-item queries, then build as any OCR dataset."""
    texts, cut = scratch / "texts", scratch / "passages"
    texts.mkdir()
    for path in sorted(args.source.glob("*.txt")):
        start = path.read_text(encoding="utf-8")[: args.characters].rpartition("\n")[0]
        (texts / path.name).write_text(start + "\n", encoding="utf-8")
    known_items.write_known_items(
        texts, cut, args.langs, n_passages=args.documents, n_queries=args.queries, seed=0
    )
    _run(
        ocr_mldr.main,
        [
            *("--source", str(cut)),
            *("--langs", *args.langs),
            *("--settings", *args.settings),
            # Debian's model files: what a rebuild in CI can have.
            *("--recipe", "fast"),
            *("--on-missing-glyph", "drop"),
            *("--license", "other"),
            *("--name", "OCRMLDRSample"),
            *("--workers", str(args.workers)),
            *("--work", str(scratch / "work")),
            *("--out", str(out)),
            "--quiet",
        ],
    )


def _run(command: Callable[[list[str]], int], arguments: list[str]) -> None:
    if command(arguments) != 0:
        raise UserError("the sample was not built; the reason is above")


def _publish(built: Path, source: Path, out: Path, licence: str) -> None:
    """Add version, licence and the inputs' checksums, and put the folder in its place."""
    manifest = read_manifest(built)
    inputs = sorted(p for p in source.rglob("*") if p.suffix in (".parquet", ".txt"))
    manifest["version"] = VERSION
    manifest["made_from"] = {
        "command": "python -m builders.sample",
        "files": {p.relative_to(source).as_posix(): sha256_of(p) for p in inputs},
        "built_from": manifest["made_from"],
    }
    with replacing_folder(out, overwrite=True) as part:
        shutil.copytree(built, part, dirs_exist_ok=True)
        (part / "LICENSE.md").write_text(licence, encoding="utf-8")
        manifest["files"]["LICENSE.md"] = file_entry(part / "LICENSE.md")
        (part / FILE_NAME).write_bytes(dump_manifest(manifest))


def _licence_of(source: Path) -> str:
    """Return what the folder says of its licences, as the sample will say it.

    Raises:
        UserError: It says nothing, or is no folder.
    """
    files = [p for p in (source / "LICENCE.md", source / "README.md") if p.is_file()]
    if not files:
        raise UserError(
            f"{source}: expected a folder with LICENCE.md or README.md, which tells the licences"
        )
    text = files[0].read_text(encoding="utf-8")
    if text.startswith("---\n"):  # the front matter of a dataset card
        text = text.split("---\n", 2)[-1]
    return (
        f"# Licence of this sample's data\n\n{text.strip()}\n\n"
        "These are other licences than that of the code around them. Their texts: "
        "https://www.gnu.org/licenses/ and https://creativecommons.org/licenses/by-sa/3.0/. "
        "Page datasets name each page's licence in the column `license`.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
