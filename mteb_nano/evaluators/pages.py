"""NanoViDoRe v3, or another page dataset, while a model trains."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mteb_nano import load, locate
from mteb_nano.catalog import NANO_VIDORE_V3, Dataset
from mteb_nano.errors import UserError
from mteb_nano.evaluators import material
from mteb_nano.evaluators.base import NanoEvaluator, Options, refuse_counts
from mteb_nano.evaluators.summary import Shown
from mteb_nano.languages import to_iso_639_3
from mteb_nano.load import Subset
from mteb_nano.nano_vidore_v3 import SUFFIXES
from mteb_nano.read import PageMode


class NanoViDoReV3Evaluator(NanoEvaluator):
    """Graded nDCG@10 of a page dataset: its mean over sources with a 95% interval, and each source.

    The score is what `mteb run -t NanoViDoReV3` (`...Markdown`, `...ImageMarkdown`) gives the same
    model. Anything less than the whole, by `sources`, `languages`, `max_pages`, `max_queries` or
    `max_image_pixels`, gets a name of its own.

    Args:
        mode: What the model sees of a page: `"image"`, `"markdown"` or `"image+markdown"`.
        sources: Whose queries are asked; all when None. The corpus is always the merged one.
        languages: Of the queries that are asked, as `french`, `fr` or `fra`; all when None.
        data: None for the published dataset, `"sample"` for the embedded one, or a dataset folder.
        max_pages: Pages in the corpus: all that are judged, then others by lot.
        max_queries: Queries of each source, by lot.
        per_language: Log the mean of each query language too.
        options: Of `Options`: `batch_size` (32) in a forward pass; `every_n_evals` (1): of so many
            evaluations of a trainer only the first is done, the others return NaN (which early
            stopping takes for no gain), and a call by hand is always done; `max_image_pixels`:
            larger page images are made smaller; `cache_mb` (1000): memory for decoded images,
            beyond which a temporary file in `cache_folder` is used, and as much for tokens;
            `write_csv` (True); `model_name` for the files; `show_progress_bar` (False).

    Kept from call to call: the data; decoded pages, at the size that the model's processor makes
    them where that is known to be exact (the image processors of CLIP, SigLIP, Qwen-VL and their
    kin in transformers 5), else as they are; and the tokens of texts, where a model of
    sentence-transformers 6 has a plain tokenizer of transformers. Not kept: what a processor does
    after resizing (pixels to numbers, patches) and the tokens of other models.

    Raises:
        UserError: The data cannot be had or are at fault, or an argument is; all is named.
    """

    def __init__(
        self,
        mode: PageMode = "image",
        *,
        sources: Iterable[str] | None = None,
        languages: Iterable[str] | None = None,
        data: str | Path | None = None,
        max_pages: int | None = None,
        max_queries: int | None = None,
        per_language: bool = False,
        **options: Any,
    ) -> None:
        if mode not in SUFFIXES:
            raise UserError(f"mode={mode!r}: expected one of {', '.join(map(repr, SUFFIXES))}")
        refuse_counts({"max_pages": max_pages, "max_queries": max_queries})
        chosen = Options.of(options)
        row = material.find_dataset(NANO_VIDORE_V3, data)
        names = material.choose(sources, row.sources, "sources")
        subsets, codes = _in_languages(load.load_pages(row, mode, names), languages)
        cut = _cut(subsets, max_pages=max_pages, max_queries=max_queries)
        parts: Mapping[str, Any] = {
            "sources": None if len(names) == len(row.sources) else names,
            "languages": codes,
            "pages": max_pages,
            "queries": max_queries,
            "pixels": chosen.max_image_pixels if "image" in mode else None,
        }
        revision = locate.revision_of(row)
        super().__init__(
            name=material.part_name(row.name + SUFFIXES[mode], parts),
            material=material.gather(cut),
            metadata=_metadata(row, mode),
            data_revision=revision,
            shown=[*_by_source(cut), *(_by_language(cut) if per_language else ())],
            config={"mode": mode, **{f"only_{k}": v for k, v in parts.items() if v is not None}},
            options=chosen,
        )


def _in_languages(
    subsets: dict[str, Subset], languages: Iterable[str] | None
) -> tuple[dict[str, Subset], tuple[str, ...] | None]:
    """Return the queries in these languages, and the languages' codes if other queries went."""
    if languages is None:
        return subsets, None
    given = [languages] if isinstance(languages, str) else languages
    codes = tuple(sorted({to_iso_639_3(language) for language in given}))
    kept = material.only_languages(subsets, codes)
    n_before, n_kept = (sum(len(s.qrels) for s in some.values()) for some in (subsets, kept))
    return kept, None if n_kept == n_before else codes


def _cut(
    subsets: Mapping[str, Subset], *, max_pages: int | None, max_queries: int | None
) -> dict[str, Subset]:
    cut = dict(subsets)
    if max_queries is not None:
        cut = material.at_most_queries(cut, max_queries)
    return cut if max_pages is None else material.at_most_documents(cut, max_pages)


def _metadata(row: Dataset, mode: PageMode) -> Any:
    from mteb_nano import nano_vidore_v3
    from mteb_nano.folder_tasks import tasks_of

    if row.folder is None or not (row.folder / "manifest.json").is_file():
        return getattr(nano_vidore_v3, NANO_VIDORE_V3.name + SUFFIXES[mode]).metadata
    return next(t for t in tasks_of(row.folder) if getattr(t, "mode", None) == mode).metadata


def _by_source(subsets: Mapping[str, Subset]) -> list[Shown]:
    return [Shown(name, "source", {name: tuple(s.qrels)}) for name, s in subsets.items()]


def _by_language(subsets: Mapping[str, Subset]) -> list[Shown]:
    members: dict[str, dict[str, list[str]]] = {}
    for name, subset in subsets.items():
        for query in subset.qrels:
            for group in subset.groups.get(query, ()):
                if group.startswith("lang_"):
                    members.setdefault(group, {}).setdefault(name, []).append(query)
    if not members:
        raise UserError("per_language: the queries have no `language` column")
    return [Shown(group, "language", members[group]) for group in sorted(members)]
