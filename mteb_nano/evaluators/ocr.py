"""OCR-MLDR, or another OCR dataset, while a model trains."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mteb_nano import load, locate
from mteb_nano.catalog import MODES, OCR_MLDR, Dataset
from mteb_nano.evaluators import material
from mteb_nano.evaluators.base import NanoEvaluator, Options, refuse_counts
from mteb_nano.evaluators.summary import Shown
from mteb_nano.load import Subset
from mteb_nano.report.records import parse_cell


class OCRMLDREvaluator(NanoEvaluator):
    """nDCG@10 of an OCR dataset: its mean with a 95% interval, and each mode, setting, language.

    The score is what `mteb run -t OCRMLDR` gives the same model. Anything less than the whole gets
    a name of its own.

    Args:
        langs: Two-letter languages; all when None.
        settings: Scan qualities, such as `dpi120_font10`; all when None.
        modes: `clean`, `ocr`, `clean2ocr`, `ocr2clean` (corpus2query); all when None.
        data: None for the published dataset, `"sample"` for the embedded one, or a dataset folder.
        max_documents: Documents in each corpus: all relevant ones, then others by lot.
        max_queries: Queries of each language, by lot.
        per_language: Log the mean of each language too.
        options: As `NanoViDoReV3Evaluator` has them.

    Raises:
        UserError: The data cannot be had or are at fault, or an argument is; all is named.
    """

    def __init__(
        self,
        langs: Iterable[str] | None = None,
        settings: Iterable[str] | None = None,
        modes: Iterable[str] | None = None,
        *,
        data: str | Path | None = None,
        max_documents: int | None = None,
        max_queries: int | None = None,
        per_language: bool = False,
        **options: Any,
    ) -> None:
        refuse_counts({"max_documents": max_documents, "max_queries": max_queries})
        chosen = Options.of(options)
        row = material.find_dataset(OCR_MLDR, data)
        wanted = {
            "langs": (material.choose(langs, row.languages, "langs"), row.languages),
            "settings": (material.choose(settings, row.settings, "settings"), row.settings),
            "modes": (material.choose(modes, tuple(MODES), "modes"), tuple(MODES)),
        }
        names = _names(row, *(picked for picked, _ in wanted.values()))
        subsets = load.load_ocr(row, names)
        if max_queries is not None:
            subsets = material.at_most_queries(subsets, max_queries)
        if max_documents is not None:
            subsets = material.at_most_documents(subsets, max_documents, option="max_documents")
        parts: Mapping[str, Any] = {
            **{k: None if len(p) == len(full) else p for k, (p, full) in wanted.items()},
            "documents": max_documents,
            "queries": max_queries,
        }
        super().__init__(
            name=material.part_name(row.name, parts),
            material=material.gather(subsets),
            metadata=_metadata(row),
            data_revision=locate.revision_of(row),
            shown=_groups(subsets, per_language=per_language),
            config={f"only_{k}": v for k, v in parts.items() if v is not None},
            options=chosen,
        )


def _names(
    row: Dataset, langs: Iterable[str], settings: Iterable[str], modes: Iterable[str]
) -> list[str]:
    wanted = {f"{a}_{b}_{c}" for a in langs for b in settings for c in modes}
    return [name for name in row.subsets if name in wanted]


def _groups(subsets: Mapping[str, Subset], *, per_language: bool) -> list[Shown]:
    kinds = ("mode", "setting", *(["language"] if per_language else []))
    members: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for kind in kinds:
        for name, subset in subsets.items():
            cell = parse_cell(name)
            member = (kind, getattr(cell, kind))
            members.setdefault(member, {})[name] = tuple(subset.qrels)
    return [Shown(name, kind, where) for (kind, name), where in members.items()]


def _metadata(row: Dataset) -> Any:
    from mteb_nano.folder_tasks import tasks_of
    from mteb_nano.ocr_mldr import OCRMLDR

    if row.folder is None or not (row.folder / "manifest.json").is_file():
        return OCRMLDR.metadata
    return tasks_of(row.folder)[0].metadata
