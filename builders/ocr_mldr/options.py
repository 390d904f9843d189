"""What a build is asked for, checked before anything is read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builders.engine import Engine
from builders.ocr_mldr.glyphs import OnMissingGlyph
from builders.ocr_mldr.models import tesseract_lang
from builders.ocr_mldr.recipes import Recipe, Setting
from mteb_nano.catalog import OCR_MLDR
from mteb_nano.errors import UserError

MLDR = "mteb/MultiLongDocRetrieval"
MLDR_REVISION = "837028901907a7d419b4ab906f28e011ce1cc824"  # the one that mteb's task is pinned to
LANGUAGES = OCR_MLDR.languages
SETTINGS = OCR_MLDR.settings
SHARD_SENTENCES = 256  # half a minute of work at 120 dpi: what a kill may cost


@dataclass(frozen=True)
class Options:
    """Everything that a build can be asked for.

    Attributes:
        out: The dataset folder to make.
        name: Of the dataset, and of the task that mteb will know it by.
        source: Folder or Hub repository of the clean texts.
        n_documents: Per language.
        seed: Of the draw of documents that are not judged.
        recipe: How images are made and read.
        ocr_engine: `module:name` of another OCR engine; None for Tesseract.
        tessdata: Folder of language files, looked at first.
        shard_sentences: Distinct sentences in a shard.
        work: Folder of the finished shards; by default beside `out`, and removed with the build's
            end. A folder that is named is kept: other builds find their sentences there.
    """

    out: Path
    recipe: Recipe
    name: str = "OCRMLDRRebuilt"
    source: str = MLDR
    revision: str | None = None
    split: str = "test"
    license: str | None = None
    langs: tuple[str, ...] = LANGUAGES
    settings: tuple[Setting, ...] = ()
    n_documents: int = 2000  # per language, https://hf.co/datasets/Psychias/ocr-mldr
    seed: int = 0
    on_missing_glyph: OnMissingGlyph = "error"
    ocr_engine: str | None = None
    tessdata: Path | None = None
    workers: int = 1
    engine: Engine = "local"
    address: str | None = None
    shard_sentences: int = SHARD_SENTENCES
    work: Path | None = None
    fresh: bool = False

    @property
    def work_folder(self) -> Path:
        """Where finished shards are kept until the dataset is whole."""
        return self.work or self.out.with_name(f"{self.out.name}.work")

    def check(self) -> None:
        """Raise a `UserError` that names every value that cannot be."""
        faults = [
            f"--{name.replace('_', '-')}: expected at least 1, got {value}"
            for name, value in (
                ("docs", self.n_documents),
                ("workers", self.workers),
                ("shard_sentences", self.shard_sentences),
            )
            if value < 1
        ]
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", self.name):
            faults.append(f"--name: expected letters, digits, `_`, `.` or `-`, got {self.name!r}")
        if self.engine == "local" and self.address:
            faults.append("--address goes with --engine ray")
        faults += _repeated("--langs", self.langs)
        faults += _repeated("--settings", [s.name for s in self.settings])
        for lang in self.langs:
            try:
                tesseract_lang(lang)
            except UserError as error:
                faults.append(f"--langs: {error}")
        if faults:
            raise UserError("\n".join(faults))


def _repeated(option: str, values: Sequence[str]) -> list[str]:
    if not values:
        return [f"{option}: expected at least one"]
    twice = sorted({v for v in values if values.count(v) > 1})
    return [f"{option}: {', '.join(twice)} stands twice"] if twice else []
