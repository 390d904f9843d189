"""Fresh virtual environments that borrow the packages of the one that runs the tests.

A `.pth` file with the path of that one's site-packages makes mteb and torch importable at once.
Python runs no `.pth` files that lie in there, so nothing of its own mteb-nano takes effect.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.packaging.imports import ROOT

OUTER = sysconfig.get_path("purelib")
PUBLISHED = ("NanoViDoReV3", "NanoViDoReV3Markdown", "NanoViDoReV3ImageMarkdown", "OCRMLDR")
SAMPLES = (
    "NanoViDoReV3Sample",
    "NanoViDoReV3SampleMarkdown",
    "NanoViDoReV3SampleImageMarkdown",
    "OCRMLDRSample",
)


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    folder: Path

    @property
    def site(self) -> Path:
        """Its site-packages."""
        return next(self.folder.glob("lib/python*/site-packages"))

    def command(self, name: str) -> str:
        """Return the path of a script in its `bin`."""
        return str(self.folder / "bin" / name)

    def python(
        self, *args: str, code: int | None = 0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run its Python in an empty folder, offline; fail the test on another exit status."""
        return self.run([self.command("python"), *args], code=code, **variables)

    def run(
        self, command: Sequence[str], *, code: int | None = 0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in an empty folder, offline; fail the test on another exit status."""
        empty = self.folder / "empty"
        empty.mkdir(exist_ok=True)
        ignored = ("PYTHON", "MTEB_NANO", "COV_")
        env = {k: v for k, v in os.environ.items() if not k.startswith(ignored)}
        env |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "400", **variables}
        done = subprocess.run(
            command, cwd=empty, env=env, capture_output=True, text=True, check=False
        )
        assert code is None or done.returncode == code, done.stdout[-500:] + done.stderr[-3000:]
        return done

    def install(self, *what: str) -> None:
        """Install without dependencies and without a network; never touches the outer packages."""
        pip = [sys.executable, "-m", "pip", "--python", self.command("python"), "install"]
        options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
        self.run([*pip, *options, "--ignore-installed", *what], PIP_CONFIG_FILE=os.devnull)


def make_environment(folder: Path) -> Environment:
    """Return a new virtual environment that can import what this one can."""
    venv.create(folder, with_pip=False, symlinks=True)
    environment = Environment(folder)
    (environment.site / "outer.pth").write_text(f"{OUTER}\n")
    for shim in Path(OUTER).glob("declare_torchvision_ops.*"):  # see tests/torchvision_shim
        shutil.copy(shim, environment.site)
    return environment


def build_wheel(folder: Path) -> Path:
    """Build the wheel with hatchling, as pip and every other front end do."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))
