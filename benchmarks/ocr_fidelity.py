"""How near the noise comes to the published error rates, beside all 30 of them.

    python -m benchmarks.ocr_fidelity TEXTS --out out/fidelity

TEXTS holds `LANG_*.txt` or `LANG/*.txt`. The documents are built by the builder itself, as one
corpus; each language's queries are seeded sentences of 50 to 120 characters. More of them
(`--queries 1000`) cost nothing, since equal sentences are recognised once. The recipe `published`
was calibrated on the even documents of Debian's manuals (the first, third, ... by name), so the odd
ones are the figures to believe. The texts are not those of the publication: differences of a point
may come from them alone.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from builders.ocr_mldr import build
from builders.ocr_mldr.error_rate import character_error_rate, mean_error_rate, squeeze
from builders.ocr_mldr.known_items import MAX_SENTENCE_CHARS, QUERY_CHARS, read_texts
from builders.ocr_mldr.options import LANGUAGES, Options
from builders.ocr_mldr.progress import Progress
from builders.ocr_mldr.recipes import recipe_named
from builders.ocr_mldr.sentences import drawable, split_sentences
from mteb_nano.errors import UserError

# Corpus and query CER in percent, https://hf.co/datasets/Psychias/ocr-mldr
PUBLISHED = {
    "dpi120_font10": {
        "de": (15.4, 8.9),
        "en": (11.0, 9.1),
        "es": (9.4, 6.7),
        "fr": (11.6, 10.1),
        "ru": (12.3, 7.3),
    },
    "dpi130_font10": {
        "de": (9.9, 5.9),
        "en": (6.7, 4.6),
        "es": (5.1, 3.6),
        "fr": (7.2, 5.1),
        "ru": (8.5, 4.6),
    },
    "dpi300_font12": {
        "de": (4.5, 2.6),
        "en": (2.9, 1.1),
        "es": (1.9, 1.2),
        "fr": (3.3, 1.6),
        "ru": (4.9, 1.9),
    },
}
HALVES = ("even", "odd")  # calibrated on, held out
JUDGED = ("de", "en", "es", "fr")  # ru is read with another model file than the published noise


@dataclass(frozen=True)
class Cell:
    """Error rates of one setting, language and half, in percent: (corpus, queries)."""

    setting: str
    lang: str
    half: str
    raw: tuple[float, float]
    squeezed: tuple[float, float]
    n: tuple[int, int]
    gap_error: float  # standard error of queries minus corpus

    @property
    def published(self) -> tuple[float, float]:
        """The published corpus and query error rates."""
        return PUBLISHED[self.setting][self.lang]

    @property
    def differences(self) -> tuple[float, float]:
        """Ours minus the published ones."""
        return (self.raw[0] - self.published[0], self.raw[1] - self.published[1])


def write_source(
    texts: Path, langs: list[str], folder: Path, *, n_documents: int | None, n_queries: int
) -> None:
    """Write the texts as a source for the builder, the half at the end of each id."""
    for lang in langs:
        home = folder / lang
        (home / "qrels").mkdir(parents=True)
        documents, queries = [], []
        for number, (name, text) in enumerate(read_texts(texts, lang)[:n_documents]):
            documents.append((f"{name}.{HALVES[number % 2]}", text))
        for half in HALVES:
            mine = [(key, text) for key, text in documents if key.endswith(f".{half}")]
            queries += _queries(mine, lang, half, n_queries)
        _write(home / "corpus.jsonl", documents)
        _write(
            home / "queries.jsonl", [(f"{n:04d}.{key}", q) for n, (key, q) in enumerate(queries)]
        )
        qrels = [f"{n:04d}.{key}\t{key}\t1" for n, (key, _) in enumerate(queries)]
        text = "\n".join(["query-id\tcorpus-id\tscore", *qrels, ""])
        (home / "qrels" / "test.tsv").write_text(text, encoding="utf-8")


def _queries(
    documents: list[tuple[str, str]], lang: str, half: str, n: int
) -> list[tuple[str, str]]:
    low, high = QUERY_CHARS
    fit = {
        sentence: key
        for key, text in documents
        for sentence in split_sentences(drawable(text), lang, max_chars=MAX_SENTENCE_CHARS)
        if low <= len(sentence) <= high
    }
    chooser = random.Random(f"{lang} {half}")
    drawn = chooser.sample(sorted(fit), min(n, len(fit)))
    return [(fit[sentence], sentence) for sentence in drawn]


def _write(path: Path, rows: list[tuple[str, str]]) -> None:
    lines = (json.dumps({"_id": key, "text": text}, ensure_ascii=False) for key, text in rows)
    path.write_text("\n".join(lines), encoding="utf-8")


def measure(out: Path, langs: list[str]) -> Iterator[Cell]:
    """Yield the error rates of a finished build, from its clean and noisy texts."""
    for setting in PUBLISHED:
        for lang in langs:
            pairs = {
                kind: _pairs(out, f"{lang}_{setting}_{kind}") for kind in ("corpus", "queries")
            }
            for half in HALVES:
                mine = [
                    [(a, b) for key, a, b in pairs[k] if key.endswith(f".{half}")] for k in pairs
                ]
                rates = [np.array([100 * character_error_rate(*p) for p in ps]) for ps in mine]
                raw = [found.mean() for found in rates]
                squares = [found.var(ddof=1) / len(found) for found in rates]
                squeezed = [
                    100 * mean_error_rate((squeeze(a), squeeze(b)) for a, b in ps) for ps in mine
                ]
                yield Cell(
                    setting,
                    lang,
                    half,
                    (raw[0], raw[1]),
                    (squeezed[0], squeezed[1]),
                    (len(mine[0]), len(mine[1])),
                    sum(squares) ** 0.5,
                )


def _pairs(out: Path, config: str) -> list[tuple[str, str, str]]:
    table = pq.read_table(out / "data" / config).to_pydict()
    return list(zip(table["_id"], table["clean_text"], table["ocr_text"], strict=True))


def report(cells: list[Cell]) -> Iterator[str]:
    """Yield the tables and the verdicts, line by line."""
    yield "CER %, corpus/queries: raw (whitespace squeezed)"
    yield ""
    yield "| setting | lang | published | even half: calibrated on | odd half: held out | n odd |"
    yield "| --- | --- | --- | --- | --- | --- |"
    by_half = {half: [c for c in cells if c.half == half] for half in HALVES}
    for even, odd in zip(by_half["even"], by_half["odd"], strict=True):
        shown = [
            f"{c.raw[0]:.1f}/{c.raw[1]:.1f} ({c.squeezed[0]:.1f}/{c.squeezed[1]:.1f})"
            for c in (even, odd)
        ]
        published = f"{odd.published[0]:.1f}/{odd.published[1]:.1f}"
        yield (
            f"| {odd.setting} | {odd.lang} | {published} | {' | '.join(shown)} | "
            f"{odd.n[0]} documents, {odd.n[1]} queries |"
        )
    yield ""
    for half in HALVES:
        yield from _verdict(half, [c for c in by_half[half] if c.lang in JUDGED], "de en es fr")
    yield from _verdict("odd", [c for c in by_half["odd"] if c.lang not in JUDGED], "ru")


def _verdict(half: str, cells: list[Cell], langs: str) -> Iterator[str]:
    if not cells:
        return
    differences = [abs(d) for cell in cells for d in cell.differences]
    worst = max(cells, key=lambda cell: max(map(abs, cell.differences)))
    mean = sum(differences) / len(differences)
    yield (
        f"{half}, {langs}: mean absolute difference {mean:.2f} points, "
        f"{len(differences)} figures, largest {max(differences):.1f} ({worst.lang} {worst.setting})"
    )
    above = [
        f"{c.lang} {c.setting} ({c.raw[1] - c.raw[0]:+.1f}, standard error {c.gap_error:.1f})"
        for c in cells
        if c.published[1] < c.published[0] and c.raw[1] >= c.raw[0]
    ]
    yield f"{half}, {langs}: queries not below corpus as published: {', '.join(above) or 'none'}"
    yield f"{half}, {langs}: settings out of order: {', '.join(_disordered(cells)) or 'none'}"


def _disordered(cells: list[Cell]) -> Iterator[str]:
    for lang in dict.fromkeys(c.lang for c in cells):
        for place, kind in enumerate(("corpus", "queries")):
            rates = [c.raw[place] for c in cells if c.lang == lang]
            if rates != sorted(rates, reverse=True):
                yield f"{lang} {kind}"


def main() -> int:
    """Run the benchmark."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("texts", type=Path)
    p.add_argument("--out", type=Path, required=True, help="dataset folder to build and measure")
    p.add_argument("--langs", nargs="+", default=list(LANGUAGES))
    p.add_argument("--documents", type=int, help="the first N of each language (all)")
    p.add_argument("--queries", type=int, default=60, help="of each half (%(default)s)")
    p.add_argument("--recipe", default="published")
    p.add_argument("--tessdata", type=Path)
    p.add_argument("--workers", type=int, default=1)
    p.add_argument("--work", type=Path)
    args = p.parse_args()
    recipe = recipe_named(args.recipe)
    options = Options(
        out=args.out,
        recipe=recipe,
        name="OCRFidelity",
        langs=tuple(args.langs),
        settings=tuple(recipe.setting(name) for name in PUBLISHED),
        tessdata=args.tessdata,
        workers=args.workers,
        work=args.work,
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "texts"
            write_source(
                args.texts,
                args.langs,
                source,
                n_documents=args.documents,
                n_queries=args.queries,
            )
            build.run(replace(options, source=str(source)), progress=Progress(), say=lambda _: None)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for line in report(list(measure(args.out, args.langs))):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
