"""OCR-MLDR: long documents and queries, clean and as Tesseract read them."""

from collections.abc import Mapping, Sequence
from typing import Any

from mteb_nano import load
from mteb_nano.catalog import MODES, OCR_MLDR, Dataset
from mteb_nano.citations import MLDR, OCR_NOISE
from mteb_nano.languages import to_mteb
from mteb_nano.task import NanoMetadata, NanoTask, metadata_for


class OcrTask(NanoTask):
    """Retrieve texts; subsets are `{lang}_{setting}_{mode}`, modes read corpus2query."""

    abstask_prompt = "Given a question, retrieve the long document that answers it."

    def load_subsets(self, names: Sequence[str]) -> dict[str, load.Subset]:
        """Return the subsets; equal texts are one corpus."""
        return load.load_ocr(self.row, names)


def ocr_metadata(row: Dataset, **fields: Any) -> NanoMetadata:
    """Return the metadata of an OCR dataset's task: language x setting x mode."""
    languages = {language: to_mteb(language) for language in row.languages}
    return metadata_for(
        row,
        eval_langs={subset: [languages[subset.split("_")[0]]] for subset in row.subsets},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        **fields,
    )


_CARD: Mapping[str, Any] = {
    "description": (
        "Retrieve long documents through OCR noise: 2,000 documents of MLDR in each of 5 "
        "languages, clean and as Tesseract read them at 3 qualities, in 4 modes: "
        f"{', '.join(MODES)}, where X2Y means an X corpus asked with Y queries. "
        "The main score is the mean over all 60 subsets and so counts `clean` three times, once "
        "for each quality: compare modes by the OCR-MLDR benchmark's mode view."
    ),
    "reference": "https://huggingface.co/datasets/Psychias/ocr-mldr",
    "date": ("2000-01-01", "2025-07-31"),
    "domains": ["Encyclopaedic", "Fiction", "Non-fiction", "Web", "Written"],
    "task_subtypes": ["Article retrieval"],
    "license": "mit",
    "annotations_creators": "LM-generated",
    "dialect": [],
    "sample_creation": "rendered",
    "bibtex_citation": OCR_NOISE + MLDR,
    "adapted_from": ["MultiLongDocRetrieval"],
    "contributed_by": "Psychias",
}


class OCRMLDR(OcrTask):
    """5 languages x 3 settings x 4 modes."""

    row = OCR_MLDR
    metadata = ocr_metadata(OCR_MLDR, **_CARD)
