"""Peak memory of the builder: flat in the number of documents and in their length.

    python -m benchmarks.ocr_memory TEXTS

Documents are made of the words of TEXTS, shuffled, so that no sentence comes twice. The images are
drawn small and not read (their part of the memory is that of one sentence); everything else is the
builder.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from builders.ocr_mldr.known_items import read_texts

LONG_CHARS = 300_000


class BlindEngine:
    """Draws on no engine: "reads" a constant."""

    def read(self, image: Image.Image, lang: str) -> str:  # noqa: ARG002, an engine's signature
        """Return a text of a sentence's length."""
        return "gelesen " * 12

    def describe(self) -> Mapping[str, Any]:
        """Return a name."""
        return {"engine": "blind"}


def sentences(words: Sequence[str], n_chars: int, seed: int) -> Iterator[str]:
    """Yield sentences of twelve words until there are `n_chars` characters."""
    chooser = random.Random(seed)
    while n_chars > 0:
        sentence = " ".join(chooser.choices(words, k=12)) + "."
        n_chars -= len(sentence)
        yield sentence


def write_source(folder: Path, words: Sequence[str], n: int, *, chars: int, long: int = 0) -> None:
    """Write `n` documents of `chars` characters, and `long` of 300,000."""
    home = folder / "de"
    (home / "qrels").mkdir(parents=True)
    with (home / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for number in range(n + long):
            size = chars if number < n else LONG_CHARS
            text = "\n".join(sentences(words, size, number))
            file.write(json.dumps({"_id": f"d{number:06d}", "text": text}) + "\n")
    (home / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "Was ist das?"}))
    (home / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td000000\t1\n")


def peak_mb(source: Path, out: Path, n: int) -> float:
    """Return the peak resident memory of a build, in MB."""
    code = (
        "import sys\n"
        "from benchmarks.peak_memory import peak_mb\n"
        "from builders.ocr_mldr.__main__ import main\n"
        "status = main(sys.argv[1:])\n"
        "print(peak_mb(), file=sys.stderr)\n"
        "sys.exit(status)"
    )
    arguments = ["--source", str(source), "--out", str(out), "--langs", "de", "--docs", str(n)]
    arguments += ["--settings", "40/6", "--recipe", "faithful", "--quiet"]
    arguments += ["--ocr-engine", "benchmarks.ocr_memory:BlindEngine", "--on-missing-glyph", "drop"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    return float(done.stderr.split()[-1])


def main() -> int:
    """Run the benchmark."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("texts", type=Path)
    p.add_argument("--documents", type=int, default=60)
    p.add_argument("--chars", type=int, default=10_000, help="of a document")
    args = p.parse_args()
    words = sorted({w for _, text in read_texts(args.texts, "de") for w in text.split()})
    cases = {
        "documents": (args.documents, 0),
        "documents, ten times as many": (10 * args.documents, 0),
        "documents, thirty times as many": (30 * args.documents, 0),
        "documents and one of 300,000 characters": (args.documents, 1),
    }
    for name, (n, long) in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "source"
            write_source(source, words, n, chars=args.chars, long=long)
            peak = peak_mb(source, Path(folder) / "out", n + long)
        print(f"{n + long} {name}: peak {peak:.0f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
