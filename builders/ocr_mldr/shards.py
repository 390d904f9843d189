"""A shard: some sentences of a language in a setting -> what is read from their images."""

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import features

from builders.engine import Shard
from builders.ocr_mldr.error_rate import edit_distance
from builders.ocr_mldr.glyphs import OnMissingGlyph
from builders.ocr_mldr.models import Model
from builders.ocr_mldr.noise import sentence_noiser
from builders.ocr_mldr.plan import Plan
from builders.ocr_mldr.recipes import Recipe, Setting
from builders.ocr_mldr.recognize import OcrEngine, TesseractEngine, load_engine_class
from mteb_nano.errors import UserError
from mteb_nano.manifest import sha256_of


@dataclass(frozen=True)
class EngineSpec:
    """What a worker opens: Tesseract with these models, or `custom`, a `module:name`.

    Attributes:
        versions: Of what draws and reads, where the build was started; a worker on another machine
            must have the same, since they are in the names of its shards.
    """

    recipe: Recipe
    models: tuple[tuple[str, Model], ...] = ()
    custom: str | None = None
    versions: tuple[tuple[str, str | None], ...] = ()

    def open(self) -> OcrEngine:
        """Return the engine, opened.

        Raises:
            UserError: It cannot be opened, has not the two methods of an engine, or another
                version than the build was started with.
        """
        if self.custom is None:
            engine: OcrEngine = TesseractEngine(dict(self.models), self.recipe)
        else:
            engine = load_engine_class(self.custom)()
        if not isinstance(engine, OcrEngine):
            raise UserError(f"OCR engine {self.custom!r}: expected the methods read and describe")
        here = versions_of(engine)
        other = [f"{k} {here.get(k)}, not {v}" for k, v in self.versions if here.get(k) != v]
        if other:
            raise UserError(f"a worker has other versions than the build: {', '.join(other)}")
        return engine


@dataclass(frozen=True)
class Job:
    """The payload of a shard."""

    engine: EngineSpec
    setting: Setting
    lang: str
    on_missing_glyph: OnMissingGlyph
    sentences: tuple[str, ...]


@functools.lru_cache(maxsize=1)
def _opened(spec: EngineSpec) -> OcrEngine:
    return spec.open()


def recognize_shard(job: Job) -> bytes:
    """Return the file of a shard: JSON with `texts` and `edits`, one of each per sentence."""
    noise = sentence_noiser(
        job.engine.recipe,
        job.setting,
        job.lang,
        _opened(job.engine),
        on_missing_glyph=job.on_missing_glyph,
    )
    texts = [noise(sentence) for sentence in job.sentences]
    edits = [edit_distance(*pair) for pair in zip(job.sentences, texts, strict=True)]
    content = {"texts": texts, "edits": edits, "characters": sum(map(len, job.sentences))}
    return json.dumps(content, ensure_ascii=False).encode()


@dataclass(frozen=True)
class ShardMaker:
    """Cuts plans into shards and names them by all that their results depend on."""

    engine: EngineSpec
    on_missing_glyph: OnMissingGlyph
    size: int
    identity: Mapping[str, Any]  # what the engine says of itself

    def shards(self, plan: Plan, lang: str, setting: Setting) -> Iterator[Shard]:
        """Yield the shards of a language and setting, in the order of the sentences."""
        base = self._base(lang, setting)
        for sentences in plan.shards(self.size):
            digest = hashlib.sha256(base)
            for sentence in sentences:
                digest.update(len(sentence.encode()).to_bytes(8) + sentence.encode())
            job = Job(self.engine, setting, lang, self.on_missing_glyph, tuple(sentences))
            yield Shard(digest.hexdigest()[:40], job)

    def _base(self, lang: str, setting: Setting) -> bytes:
        recipe = self.engine.recipe.as_dict()
        # Names do not change pixels: recipes that agree on a setting share its shards.
        for name in ("name", "version", "summary", "settings", "models", "font"):
            recipe.pop(name)
        mine = dict(self.identity)
        if self.engine.custom is None:
            models = dict(self.engine.models)
            mine["models"] = models[lang].sha256
        parts = {
            "recipe": recipe,
            "font": font_sha256(self.engine.recipe.font_path),
            "setting": [setting.name, setting.line_gap_px, setting.ink_threshold],
            "lang": lang,
            "engine": mine,
            "drawn_by": drawing_versions(),
            "on_missing_glyph": self.on_missing_glyph,
        }
        return json.dumps(parts, sort_keys=True, default=str).encode()


def versions_of(engine: OcrEngine) -> dict[str, str | None]:
    """Return the versions that an image's pixels and its text depend on."""
    return {**drawing_versions(), "tesseract": engine.describe().get("tesseract")}


def drawing_versions() -> dict[str, str | None]:
    """Return the versions of what draws."""
    return {"pillow": features.version("pil"), "freetype": features.version("freetype2")}


@functools.lru_cache(maxsize=4)
def font_sha256(font: Path) -> str:
    """Return the sha256 of the font file.

    Raises:
        UserError: There is no such file.
    """
    try:
        return sha256_of(font)
    except OSError as error:
        raise UserError(f"font {font}: cannot be read: {error.strerror}") from None
