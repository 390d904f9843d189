"""A model that cannot see pages, asked for page images: which task fits it."""

import re
from collections.abc import Iterable

# mteb's `_check_model_modalities`; tests/test_cli_mteb.py holds it to this wording.
_MISMATCH = re.compile(r"Model (\S+) supports (\[.*?\]), but none overlap with task (\S+) ")


def hint_for(message: str) -> str | None:
    """Return mteb's message about modalities, one line a task, if one of our tasks is in it."""
    lines = message.splitlines()
    hints = [_hint_for_line(line) for line in lines]
    if not any(hints):
        return None
    return "\n".join(hint or line for hint, line in zip(hints, lines, strict=True))


def _hint_for_line(line: str) -> str | None:
    match = _MISMATCH.search(line)
    if match is None:
        return None
    model, modalities, task = match.groups()
    return mismatch(model, re.findall(r"\w+", modalities), task)


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
    if cls is None or not known:
        return None
    if "text" not in known:
        return f"{model} reads {', '.join(sorted(known))} and the queries of {task} are text"
    if "image" in known or not issubclass(cls, PageTask) or cls.mode == "markdown":
        return None
    return (
        f"{model} reads {', '.join(sorted(known))} and {task} serves page images: "
        f"use -t {cls.row.name}Markdown, the same pages as text"
    )
