"""NanoViDoRe v3 and OCR-MLDR for mteb.

Importing this package imports nothing heavy; the names below come with mteb at first use.
"""

from typing import Any

__version__ = "0.1.0"
_TASKS = {
    "NanoViDoReV3": "nano_vidore_v3",
    "NanoViDoReV3Markdown": "nano_vidore_v3",
    "NanoViDoReV3ImageMarkdown": "nano_vidore_v3",
    "OCRMLDR": "ocr_mldr",
    "tasks_of": "folder_tasks",
    "register": "registry",
}
__all__ = ["__version__", *_TASKS]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _TASKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    importlib.import_module("mteb")  # before our tasks, so that the start-up hook sees them whole
    return getattr(importlib.import_module(f"{__name__}.{_TASKS[name]}"), name)
