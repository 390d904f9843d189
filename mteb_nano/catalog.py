"""What exists: one frozen row per dataset. Standard library only."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["page-retrieval", "ocr-retrieval"]

# `X2Y` reads corpus2query: clean2ocr is a clean index asked with noisy queries.
# mode -> (column of the corpus, column of the queries); https://hf.co/datasets/Psychias/ocr-mldr
MODES: Mapping[str, tuple[str, str]] = {
    "clean": ("clean_text", "clean_text"),
    "ocr": ("ocr_text", "ocr_text"),
    "clean2ocr": ("clean_text", "ocr_text"),
    "ocr2clean": ("ocr_text", "clean_text"),
}
PARTS = ("corpus", "queries", "qrels")


@dataclass(frozen=True)
class Dataset:
    """A dataset that is, or can become, one or more mteb tasks.

    Attributes:
        name: The task's name; page datasets add `Markdown` and `ImageMarkdown` to it.
        hub_id: Repository on the Hub, or None for a folder.
        folder: Where the data lie, or None for a Hub repository.
        sources: Subsets of a page dataset.
        languages: Languages of an OCR dataset, one of the two letters that name its folders.
        query_languages: Languages of a page dataset's queries, as the data write them.
        grades: Relevance grades that the qrels may hold.
        counts: Published or declared numbers of rows; keys are `corpus`, `queries`, `qrels`,
            `judged`, or `{lang}_corpus` and `{lang}_queries` for OCR datasets.
        about: Tolerance of the counts, as a fraction, where the card writes "about" (~200).
        published: The counts are the published ones, so data that differ are not this dataset.
    """

    name: str
    kind: Kind
    hub_id: str | None = None
    revision: str = "main"
    folder: Path | None = None
    license: str | None = None
    sources: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    query_languages: tuple[str, ...] = ()
    grades: tuple[int, ...] = (1,)
    counts: Mapping[str, int] = field(default_factory=dict)
    about: Mapping[str, float] = field(default_factory=dict)
    published: bool = False

    @property
    def subsets(self) -> tuple[str, ...]:
        """Names of the mteb subsets: the sources, or `{lang}_{setting}_{mode}`."""
        if self.kind == "page-retrieval":
            return self.sources
        triples = itertools.product(self.languages, self.settings, MODES)
        return tuple(f"{lang}_{setting}_{mode}" for lang, setting, mode in triples)

    @property
    def task_names(self) -> tuple[str, ...]:
        """Names of the mteb tasks that read this dataset."""
        if self.kind == "page-retrieval":
            return (self.name, f"{self.name}Markdown", f"{self.name}ImageMarkdown")
        return (self.name,)

    @property
    def variable(self) -> str:
        """The environment variable that puts other data in this dataset's place."""
        return "MTEB_NANO_" + "".join(c if c.isalnum() else "_" for c in self.name).upper()


NANO_VIDORE_V3 = Dataset(
    name="NanoViDoReV3",
    kind="page-retrieval",
    hub_id="lightonai/NanoViDoRe_v3",
    license="cc-by-4.0",
    sources=(
        "computer_science",
        "energy",
        "finance_en",
        "finance_fr",
        "hr",
        "industrial",
        "pharmaceuticals",
        "physics",
    ),
    query_languages=("english", "french", "german", "spanish", "italian", "portuguese"),
    grades=(1, 2),
    counts={"corpus": 4000, "queries": 400, "qrels": 2061, "judged": 1782},
    published=True,
)

OCR_MLDR = Dataset(
    name="OCRMLDR",
    kind="ocr-retrieval",
    hub_id="Psychias/ocr-mldr",
    license="mit",
    languages=("de", "en", "es", "fr", "ru"),
    settings=("dpi120_font10", "dpi130_font10", "dpi300_font12"),
    counts={
        **{f"{lang}_corpus": 2000 for lang in ("de", "en", "es", "fr", "ru")},
        **{f"{lang}_queries": 200 for lang in ("de", "es", "fr", "ru")},
        "en_queries": 800,
    },
    # The card writes ~200 and ~800 queries; its CER table writes them without the tilde.
    about={f"{lang}_queries": 0.05 for lang in ("de", "en", "es", "fr", "ru")},
    published=True,
)

PUBLISHED = (NANO_VIDORE_V3, OCR_MLDR)


def from_manifest(manifest: Mapping[str, Any], folder: Path) -> Dataset:
    """Return the dataset that a folder's manifest, as `read_manifest` returns it, describes."""
    counts = {k: v for k, v in manifest.get("counts", {}).items() if isinstance(v, int)}
    published = {d.name: d for d in PUBLISHED}.get(manifest["name"])
    return Dataset(
        name=manifest["name"],
        kind=manifest["kind"],
        folder=folder,
        license=_license(manifest.get("license")),
        sources=tuple(source["name"] for source in manifest.get("sources", ())),
        languages=tuple(manifest.get("languages", ())),
        settings=tuple(manifest.get("settings", ())),
        query_languages=tuple(manifest.get("query_languages", ())),
        grades=tuple(manifest.get("grades", (1,))),
        # A folder that bears a published name claims to be that dataset, and is held to it.
        counts=published.counts if published else counts,
        about=published.about if published else {},
        published=published is not None,
    )


def _license(value: object) -> str | None:
    return value if isinstance(value, str) else None
