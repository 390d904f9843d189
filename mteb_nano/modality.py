"""A model that cannot see pages, asked for page images: which task fits it."""

import re
from collections.abc import Iterable

# mteb's `_check_model_modalities`; tests/test_cli_mteb.py holds it to this wording.
_MISMATCH = re.compile(r"Model (\S+) supports .*, but none overlap with task (\S+) ")


def hint_for(message: str) -> str | None:
    """Return one line for mteb's message about modalities, if it is about one of our tasks."""
    match = _MISMATCH.search(message)
    if match is None:
        return None
    model, task = match.groups()
    return mismatch(model, ["text"], task)


def mismatch(model: str, modalities: Iterable[str] | None, task: str) -> str | None:
    """Return one line that names the fitting task, or None when the model fits or nothing is known.

    Args:
        model: The model's name.
        modalities: What the model can read; None when its author does not say.
        task: Name of a task of ours.
    """
    from mteb_nano import registry
    from mteb_nano.nano_vidore_v3 import PageTask

    by_name = {t.metadata.name: t for t in registry.tasks()}
    cls = by_name.get(task)
    known = set(modalities or ())
    if cls is None or not known or not issubclass(cls, PageTask) or cls.mode == "markdown":
        return None
    if "image" in known:
        return None
    return (
        f"{model} reads {', '.join(sorted(known))} and {task} serves page images: "
        f"use -t {cls.row.name}Markdown, the same pages as text"
    )
