"""Texts and commands that the tests of the OCR builder share."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent.parent

TEXTS = json.loads((TESTS / "texts.json").read_text(encoding="utf-8"))
GERMAN, RUSSIAN = TEXTS["de"], TEXTS["ru"]


def write_source(
    folder: Path,
    texts: Mapping[str, Sequence[str]],
    *,
    n_queries: int = 2,
) -> Path:
    """Write texts in BEIR layout; the first sentence of a document asks for it."""
    for lang, documents in texts.items():
        home = folder / lang
        (home / "qrels").mkdir(parents=True)
        rows = [{"_id": f"d{n}", "text": text} for n, text in enumerate(documents)]
        asked = [(f"q{n}", d.split(". ")[0]) for n, d in enumerate(documents[:n_queries])]
        queries = [{"_id": key, "text": text} for key, text in asked]
        (home / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
        (home / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
        qrels = [f"q{n}\td{n}\t1" for n in range(len(asked))]
        (home / "qrels" / "test.tsv").write_text(
            "\n".join(["query-id\tcorpus-id\tscore", *qrels, ""])
        )
    return folder


def environment(**more: str) -> dict[str, str]:
    """The environment of a subprocess that sees the project and these tests."""
    paths = [str(ROOT), str(TESTS), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1", **more}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "builders.ocr_mldr", *map(str, arguments)]


def run_command(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the builder as a user would."""
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        env=environment(**env),
        timeout=300,
    )


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, to compare folders byte by byte."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
