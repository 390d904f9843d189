"""Put our tasks, benchmarks and models into mteb's registries.

The only file that touches mteb's private names (in `register`); `tests/packaging/test_contract.py`
holds mteb to what is assumed here. The other functions are called by the start-up hook, each with
the module of mteb that has just been executed, and add to what that module is scanned for.
"""

import functools
import logging
import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from mteb_nano.errors import UserError

log = logging.getLogger(__name__)


def tasks() -> tuple[type[Any], ...]:
    """Return our task classes: published, sample, and of the folders in `MTEB_NANO_DATA`."""
    from mteb_nano import folder_tasks
    from mteb_nano.nano_vidore_v3 import (
        NanoViDoReV3,
        NanoViDoReV3ImageMarkdown,
        NanoViDoReV3Markdown,
    )
    from mteb_nano.ocr_mldr import OCRMLDR

    published = (NanoViDoReV3, NanoViDoReV3Markdown, NanoViDoReV3ImageMarkdown, OCRMLDR)
    return (*published, *folder_tasks.sample_tasks(), *folder_tasks.tasks_from_environment())


def after_import(module: ModuleType, function: str | None) -> None:
    """Call a function of this file; the start-up hook's way in.

    If a module of ours was imported before mteb, mteb comes in the midst of it, when our classes
    are half made. Then nothing is done before that module is whole, and all of it then.

    Args:
        module: The module that has just been executed.
        function: The name of the function that takes it; None for a module of ours that was
            imported before mteb and has brought it in.
    """
    if _half_imported(but=module):
        return
    if function is None:
        register()
    else:
        globals()[function](module)


def add_tasks(module: ModuleType) -> None:
    """Set our task classes on `mteb.tasks`."""
    _set_tasks(module, _new(tasks(), dict(_tasks_of_mteb(module))))


def _set_tasks(module: ModuleType, new: Iterable[type[Any]]) -> None:
    for task in new:
        # mteb goes by the tasks' own names, so a class of its own under this one stays.
        free = not hasattr(module, task.__name__)
        setattr(module, task.__name__ if free else f"MTEB_NANO_{task.__name__}", task)


def add_benchmarks(module: ModuleType) -> None:
    """Set our benchmarks on `mteb.benchmarks.benchmarks`."""
    from mteb.benchmarks.benchmark import Benchmark

    from mteb_nano.benchmarks import benchmarks

    taken = {item.name for item in vars(module).values() if isinstance(item, Benchmark)}
    for index, benchmark in enumerate(b for b in benchmarks() if b.name not in taken):
        setattr(module, f"MTEB_NANO_{index}", benchmark)


def add_models(module: ModuleType) -> None:
    """Add our models to `MODEL_REGISTRY`."""
    from mteb_nano.models import models

    for meta in models():
        module.MODEL_REGISTRY.setdefault(meta.name, meta)


def guard_results(module: Any) -> None:
    """Keep a cached result of other data from passing for this one, and results from being halves.

    mteb reuses a complete result although the dataset's revision has changed. Told that all of its
    subsets are missing, it runs them.
    """
    from mteb_nano.cached import missing_evaluations, written_whole

    result = module.TaskResult
    result.get_missing_evaluations = missing_evaluations(result.get_missing_evaluations)
    result.to_disk = written_whole(result.to_disk)


def explain_errors(module: Any) -> None:
    """Let mteb's command print our errors as one message and exit with status 2."""
    main = module.main

    @functools.wraps(main)
    def explained() -> None:
        try:
            main()
        except UserError as error:
            sys.exit(_print(error))
        except ValueError as error:
            from mteb_nano.modality import hint_for

            hint = hint_for(str(error))
            if hint is None:
                raise
            sys.exit(_print(hint))

    module.main = explained


def _print(message: object) -> int:
    print(message, file=sys.stderr)
    return 2


def _tasks_of_mteb(module: ModuleType) -> Iterable[tuple[str, type]]:
    for item in vars(module).values():
        metadata = getattr(item, "metadata", None) if isinstance(item, type) else None
        if metadata is not None and hasattr(metadata, "name"):
            yield metadata.name, item


def _new(classes: Iterable[type[Any]], taken: Mapping[str, type]) -> list[type[Any]]:
    """Return the tasks whose names are free; a duplicate would make `import mteb` raise."""
    from mteb_nano.task import NanoTask

    new: dict[str, type[Any]] = {}
    for task in classes:
        name = task.metadata.name
        if name in new:
            log.warning("mteb-nano: two datasets are named %s; the first is used", name)
        elif name not in taken:
            new[name] = task
        elif not issubclass(taken[name], NanoTask):
            log.warning("mteb-nano: mteb has a task %s of its own, which is used", name)
    return list(new.values())


def _half_imported(but: ModuleType) -> bool:
    """Return whether a module of ours, but that one, is in the middle of its import."""
    ours = [m for name, m in sys.modules.items() if name.startswith("mteb_nano.") and m is not but]
    return any(getattr(module.__spec__, "_initializing", False) for module in ours)


def register() -> None:
    """Do by hand what the start-up hook does, for installs that run no `.pth` files.

    Safe to call at any time and more than once.
    """
    import mteb.benchmarks.benchmarks
    import mteb.benchmarks.get_benchmark
    import mteb.cli.build_cli
    import mteb.get_tasks
    import mteb.models.model_implementations
    import mteb.results.task_result
    import mteb.tasks

    get_tasks: Any = sys.modules["mteb.get_tasks"]  # `mteb.get_tasks` itself is a function
    new = _new(tasks(), get_tasks._TASKS_REGISTRY)  # noqa: SLF001
    get_tasks.TASK_LIST = (*get_tasks.TASK_LIST, *new)
    get_tasks._TASKS_REGISTRY.update({task.metadata.name: task for task in new})  # noqa: SLF001
    _set_tasks(mteb.tasks, new)
    add_models(mteb.models.model_implementations)
    add_benchmarks(mteb.benchmarks.benchmarks)
    found: Any = sys.modules["mteb.benchmarks.get_benchmark"]
    found._build_registry.cache_clear()  # noqa: SLF001
    found._build_aliases_registry.cache_clear()  # noqa: SLF001
    _wrap_once()


def _wrap_once() -> None:
    """Wrap what the hook wraps, unless it has."""
    result: Any = sys.modules["mteb.results.task_result"]
    if not hasattr(result.TaskResult.get_missing_evaluations, "__wrapped__"):
        guard_results(result)
    cli: Any = sys.modules["mteb.cli.build_cli"]
    if not hasattr(cli.main, "__wrapped__"):
        explain_errors(cli)
        sys.modules["mteb.cli"].main = cli.main  # type: ignore[attr-defined]
