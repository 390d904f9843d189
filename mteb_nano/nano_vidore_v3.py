"""NanoViDoRe v3: page retrieval by image, by markdown, or by both."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mteb_nano import load
from mteb_nano.catalog import NANO_VIDORE_V3, Dataset
from mteb_nano.citations import VIDORE_V3
from mteb_nano.languages import to_mteb
from mteb_nano.read import PageMode
from mteb_nano.task import NanoMetadata, NanoTask, metadata_for

log = logging.getLogger(__name__)
_PROMPT = {"query": "Find a screenshot that is relevant to the user's question."}  # ViDoRe v3's own
# What mteb calls each mode; text-only models never see the type `DocumentUnderstanding`'s prompt.
_FIELDS: Mapping[PageMode, Mapping[str, Any]] = {
    "image": {
        "category": "t2i",
        "modalities": ["text", "image"],
        "type": "DocumentUnderstanding",
        "task_subtypes": ["Image Text Retrieval"],
        "prompt": _PROMPT,
    },
    "markdown": {
        "category": "t2t",
        "modalities": ["text"],
        "type": "Retrieval",
        "task_subtypes": ["Question answering"],
    },
    "image+markdown": {
        "category": "t2it",
        "modalities": ["text", "image"],
        "type": "DocumentUnderstanding",
        "task_subtypes": ["Image Text Retrieval"],
        "prompt": _PROMPT,
    },
}
SUFFIXES: Mapping[PageMode, str] = {
    "image": "",
    "markdown": "Markdown",
    "image+markdown": "ImageMarkdown",
}
_SEEN: Mapping[PageMode, str] = {
    "image": "page images",
    "markdown": "the pages' markdown, as text",
    "image+markdown": "page images together with their markdown",
}


class PageTask(NanoTask):
    """Retrieve pages; one subset a source, all of which search one merged corpus."""

    mode: ClassVar[PageMode]
    abstask_prompt = "Find the document page that answers the user's question."

    def load_subsets(self, names: Sequence[str]) -> dict[str, load.Subset]:
        """Return the sources' queries over the one merged corpus."""
        return load.load_pages(self.row, self.mode, names)

    def filter_languages(self, languages: Any, *args: Any, **kwargs: Any) -> Any:
        """Keep every source that has a query in these languages, with all of its queries."""
        if languages:
            log.warning(
                "%s: every source mixes its languages, so all queries are kept; the scores of one "
                "language stand beside nDCG@10 as ndcg_at_10_lang_{code}",
                self.metadata.name,
            )
        return super().filter_languages(languages, *args, **kwargs)


def page_metadata(row: Dataset, mode: PageMode, **fields: Any) -> NanoMetadata:
    """Return the metadata of a page dataset's task in one mode; every source has all languages."""
    languages = [to_mteb(language) for language in row.query_languages]
    description = f"{fields.pop('description')} The model sees {_SEEN[mode]}."
    return metadata_for(
        row,
        name=row.name + SUFFIXES[mode],
        description=description,
        eval_langs=dict.fromkeys(row.sources, languages),
        **{**_FIELDS[mode], **fields},
    )


_CARD: Mapping[str, Any] = {
    "description": (
        "Retrieve the pages that answer a question: 400 queries in 6 languages from 8 datasets of "
        "ViDoRe v3 (a subset each) over one corpus of 4,000 pages, 2,218 of them hard negatives. "
        "A signal for training; absolute scores are higher than on the full ViDoRe v3."
    ),
    "reference": "https://huggingface.co/datasets/lightonai/NanoViDoRe_v3",
    "date": ("2025-10-01", "2026-07-31"),
    "domains": ["Academic", "Chemistry", "Engineering", "Financial", "Legal", "Medical"],
    "license": "cc-by-4.0",
    "annotations_creators": "derived",
    "dialect": [],
    "sample_creation": "created and machine-translated",
    "bibtex_citation": VIDORE_V3,
    "contributed_by": "LightOn",
}


class NanoViDoReV3(PageTask):
    """Page images."""

    row = NANO_VIDORE_V3
    mode = "image"
    metadata = page_metadata(NANO_VIDORE_V3, "image", **_CARD)


class NanoViDoReV3Markdown(PageTask):
    """The pages' markdown, for text models."""

    row = NANO_VIDORE_V3
    mode = "markdown"
    metadata = page_metadata(NANO_VIDORE_V3, "markdown", **_CARD)


class NanoViDoReV3ImageMarkdown(PageTask):
    """Page images together with their markdown."""

    row = NANO_VIDORE_V3
    mode = "image+markdown"
    metadata = page_metadata(NANO_VIDORE_V3, "image+markdown", **_CARD)
