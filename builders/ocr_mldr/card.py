"""The manifest and the dataset card of a build."""

import importlib.metadata
import platform
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from builders import export
from builders.ocr_mldr.assemble import Rates
from builders.ocr_mldr.options import MLDR, Options
from builders.ocr_mldr.shards import drawing_versions, font_sha256

PARTS = ("corpus", "queries", "qrels")
_MODES = """\
| mode | corpus | queries |
| --- | --- | --- |
| clean | clean_text | clean_text |
| ocr | ocr_text | ocr_text |
| clean2ocr | clean_text | ocr_text |
| ocr2clean | ocr_text | clean_text |"""


def table_path(cell: str, part: str) -> str:
    """Return the path of a table in the folder; `cell` is `de_dpi120_font10`."""
    return f"data/{cell}_{part}/test-00000-of-00001.parquet"


def manifest(
    options: Options,
    *,
    counts: Mapping[str, Mapping[str, int]],
    made_from: Mapping[str, Any],
    engine: Mapping[str, Any],
    missing: Mapping[str, Any],
    grades: Iterable[int],
) -> dict[str, Any]:
    """Return the manifest but for `cer` and `files`."""
    return {
        "name": options.name,
        "kind": "ocr-retrieval",
        "version": f"{options.recipe.name}-{options.recipe.version}",
        "license": options.license or ("mit" if options.source == MLDR else "other"),
        "languages": list(options.langs),
        "settings": [setting.name for setting in options.settings],
        "grades": sorted(grades),
        "counts": _counts(counts),
        "recipe": {
            **options.recipe.as_dict(),
            "settings": {
                s.name: {"line_gap_px": s.line_gap_px, "ink_threshold": s.ink_threshold}
                for s in options.settings
            },
            "documents_per_language": options.n_documents,
            "seed": options.seed,
            "on_missing_glyph": options.on_missing_glyph,
            "missing_glyphs": dict(missing),
        },
        "made_from": dict(made_from),
        "tools": {
            **drawing_versions(),
            "font_sha256": font_sha256(options.recipe.font_path),
            "ocr": dict(engine),
            "numpy": importlib.metadata.version("numpy"),
            "sentencex": importlib.metadata.version("sentencex"),
            "rapidfuzz": importlib.metadata.version("rapidfuzz"),
            "pyarrow": importlib.metadata.version("pyarrow"),
            "unicode": unicodedata.unidata_version,
            "python": python_version(),
        },
    }


def python_version() -> str:
    """Return `3.12`: patch releases change no text, and must not change the manifest."""
    return ".".join(platform.python_version_tuple()[:2])


def _counts(counts: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    return {f"{lang}_{key}": n for lang, mine in counts.items() for key, n in mine.items()}


def rates_for_manifest(rates: Mapping[tuple[str, str, str], Rates]) -> dict[str, Any]:
    """Return language -> setting -> kind -> rates."""
    nested: dict[str, Any] = {}
    for (lang, setting, kind), found in rates.items():
        nested.setdefault(lang, {}).setdefault(setting, {})[kind] = found.as_dict()
    return nested


def summary(manifest: Mapping[str, Any]) -> Iterable[str]:
    """Yield what a person wants to know of a finished build, line by line."""
    yield from _rate_table(manifest)
    for lang, setting, kind, found in _cells(manifest):
        if found["empty_texts"] or found["empty_sentences"]:
            yield (
                f"{lang} {setting} {kind}: nothing was read from {found['empty_sentences']} "
                f"sentences and {found['empty_texts']} whole texts; they stay empty"
            )
    for lang, missing in manifest["recipe"]["missing_glyphs"].items():
        how = manifest["recipe"]["on_missing_glyph"]
        characters = missing["characters"]
        yield (
            f"{lang}: the font lacks {len(characters)} characters of {missing['sentences']} "
            f"distinct sentences ({how}): {' '.join(characters[:20])}"
        )
    for model in manifest["tools"]["ocr"].get("models", {}).items():
        if not model[1]["is_the_recipes"]:
            yield f"{model[0]}: not the model file that the recipe names, so other noise"


def dataset_card(manifest: Mapping[str, Any]) -> str:
    """Return the `README.md` of a build."""
    configs = {
        f"{lang}_{setting}_{part}": table_path(f"{lang}_{setting}", part)
        for lang in manifest["languages"]
        for setting in manifest["settings"]
        for part in PARTS
    }
    recipe, made_from = manifest["recipe"], manifest["made_from"]
    revision = f" at {made_from['revision']}" if made_from["revision"] else ""
    text = f"""# {manifest["name"]}

Documents and queries of {made_from["source"]}{revision}, clean (`clean_text`) and as OCR reads them
from images, one image a sentence (`ocr_text`). Made by `python -m builders.ocr_mldr`, recipe
`{recipe["name"]}` version {recipe["version"]}: {recipe["summary"]}. `manifest.json` holds every
number and checksum.

Configs are named `{{lang}}_{{setting}}_{{corpus|queries|qrels}}`, split `test`. A run scores four
modes:

{_MODES}

## Character error rate

Edit distance / length of the clean text, mean over texts; in brackets with whitespace squeezed.

{chr(10).join(_rate_table(manifest))}
"""
    return export.dataset_card(
        configs, text, license_id=manifest["license"], languages=manifest["languages"]
    )


def _rate_table(manifest: Mapping[str, Any]) -> Iterable[str]:
    yield "| language | setting | corpus CER % | query CER % | documents | queries |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for lang, settings in manifest["cer"].items():
        for setting, kinds in settings.items():
            shown = [
                f"{100 * kinds[k]['cer']:.1f} ({100 * kinds[k]['cer_whitespace_normalized']:.1f})"
                for k in ("corpus", "queries")
            ]
            n = [f"{kinds[k]['n']:,}" for k in ("corpus", "queries")]
            yield f"| {lang} | {setting} | {' | '.join(shown + n)} |"


def _cells(manifest: Mapping[str, Any]) -> Iterable[tuple[str, str, str, dict[str, Any]]]:
    for lang, settings in manifest["cer"].items():
        for setting, kinds in settings.items():
            for kind, found in kinds.items():
                yield lang, setting, kind, found
