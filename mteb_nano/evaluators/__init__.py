"""A retrieval score while a model trains: evaluators for the trainers people use.

    from mteb_nano.evaluators import NanoViDoReV3Evaluator

    evaluator = NanoViDoReV3Evaluator(mode="image")
    trainer = SentenceTransformerTrainer(..., evaluator=evaluator)  # or by hand: evaluator(model)

Importing this package imports nothing heavy; the names below come with mteb at first use.
"""

from typing import Any

_PLACES = {
    "NanoViDoReV3Evaluator": "pages",
    "OCRMLDREvaluator": "ocr",
    "NanoEvaluator": "base",
    "NanoEvalCallback": "callback",
    "ColpaliEncoder": "colpali",
}
__all__ = [*_PLACES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    importlib.import_module("mteb")  # before our tasks, so that the start-up hook sees them whole
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
