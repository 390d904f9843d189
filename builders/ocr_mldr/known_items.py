"""Plain texts -> a corpus of passages with known-item queries, as a source for the builder.

Each query is a sentence of one passage, and that passage is its one relevant document. Known-item
retrieval measures how far noise moves scores; it does not replace judged queries.

A whole sentence is misread as a query just as it is in its passage. With `--drop-words` it is drawn
without its first words: its lines break elsewhere, and it is read otherwise.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from builders.extras import needs_extra
from mteb_nano.errors import UserError

with needs_extra("builders"):
    from builders.export import replacing_folder
    from builders.ocr_mldr.sentences import drawable, split_sentences

QUERY_CHARS = (50, 120)  # as long as the questions of MLDR
MAX_SENTENCE_CHARS = 2000


@dataclass(frozen=True)
class Passage:
    """Some paragraphs of one text that follow each other."""

    id: str
    text: str


def read_texts(folder: Path, lang: str) -> list[tuple[str, str]]:
    """Return name and text of `LANG/*.txt` and `LANG_*.txt`, sorted by name.

    Raises:
        UserError: There are none.
    """
    paths = [*folder.glob(f"{lang}/*.txt"), *folder.glob(f"{lang}_*.txt")]
    if not paths:
        raise UserError(f"{folder}: expected {lang}/*.txt or {lang}_*.txt, and found none")
    return [(path.stem, path.read_text(encoding="utf-8")) for path in sorted(paths)]


def cut_passages(texts: Sequence[tuple[str, str]], *, n: int) -> list[Passage]:
    """Return at least `n` passages of whole paragraphs, together all of the texts.

    Raises:
        ValueError: There are too few paragraphs.
    """
    paragraphs = {name: [p for p in drawable(t).splitlines() if p.strip()] for name, t in texts}
    n_chars = sum(len(p) for found in paragraphs.values() for p in found)
    for target in range(n_chars // n, 0, -50):  # passages end after a paragraph, so are longer
        passages = [
            Passage(f"{name}-{number:04d}", "\n\n".join(run))
            for name, mine in paragraphs.items()
            for number, run in enumerate(_runs(mine, target))
        ]
        if len(passages) >= n:
            return passages
    raise ValueError(f"the texts have {sum(map(len, paragraphs.values()))} paragraphs")


def _runs(paragraphs: Sequence[str], target: int) -> Iterator[list[str]]:
    run: list[str] = []
    for paragraph in paragraphs:
        run.append(paragraph)
        if sum(map(len, run)) >= target:
            yield run
            run = []
    if run:
        yield run


def draw_queries(
    passages: Sequence[Passage], lang: str, *, n: int, seed: str, dropped_words: int = 0
) -> list[tuple[str, str]]:
    """Return (query, id of its passage), `n` of them if there are as many, one a passage at most.

    Queries are sentences without their first `dropped_words` words. What stands in two passages is
    no query.
    """
    candidates = {
        p.id: [
            words[-1]
            for sentence in split_sentences(p.text, lang, max_chars=MAX_SENTENCE_CHARS)
            if len(words := sentence.split(maxsplit=dropped_words)) > dropped_words
        ]
        for p in passages
    }
    where: dict[str, set[str]] = {}
    for key, mine in candidates.items():
        for query in mine:
            where.setdefault(query, set()).add(key)
    low, high = QUERY_CHARS
    chooser = random.Random(seed)  # noqa: S311, reproducible, not secret
    queries = []
    for passage in chooser.sample(passages, len(passages)):
        fit = [q for q in candidates[passage.id] if low <= len(q) <= high and len(where[q]) == 1]
        if fit and len(queries) < n:
            queries.append((chooser.choice(fit), passage.id))
    return sorted(queries, key=lambda query: query[1])


def write_known_items(
    folder: Path,
    out: Path,
    langs: Sequence[str],
    *,
    n_passages: int,
    n_queries: int,
    seed: int,
    dropped_words: int = 0,
) -> dict[str, tuple[int, int]]:
    """Write a source in BEIR layout, one folder a language; see `draw_queries`.

    Returns:
        Language -> number of passages and of queries, which may be fewer than were asked for.

    Raises:
        UserError: Texts are missing or too short, a number is too small, or `out` exists.
    """
    if min(n_passages, n_queries) < 1 or dropped_words < 0:
        raise UserError(
            "expected at least 1 passage, 1 query and 0 dropped words, got "
            f"{n_passages}, {n_queries} and {dropped_words}"
        )
    counts = {}
    with replacing_folder(out) as part:
        for lang in langs:
            try:
                passages = cut_passages(read_texts(folder, lang), n=n_passages)
            except ValueError as error:
                raise UserError(
                    f"{lang}: {n_passages} passages were asked for: {error}; --passages N asks for "
                    "fewer"
                ) from None
            queries = draw_queries(
                passages, lang, n=n_queries, seed=f"{seed} {lang}", dropped_words=dropped_words
            )
            if not queries:
                low, high = QUERY_CHARS
                raise UserError(
                    f"{lang}: no passage has a sentence of its own of {low} to {high} characters"
                )
            counts[lang] = (len(passages), len(queries))
            home = part / lang
            (home / "qrels").mkdir(parents=True)
            _write_jsonl(home / "corpus.jsonl", ((p.id, p.text) for p in passages))
            _write_jsonl(home / "queries.jsonl", ((f"q-{p}", q) for q, p in queries))
            lines = [f"q-{p}\t{p}\t1" for _, p in queries]
            text = "\n".join(["query-id\tcorpus-id\tscore", *lines, ""])
            (home / "qrels" / "test.tsv").write_text(text, encoding="utf-8")
    return counts


def _write_jsonl(path: Path, rows: Iterator[tuple[str, str]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for key, text in rows:
            file.write(json.dumps({"_id": key, "text": text}, ensure_ascii=False) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    p = argparse.ArgumentParser(
        prog="python -m builders.ocr_mldr.known_items",
        description="Cut passages and known-item queries from plain texts.",
        epilog="example: python -m builders.ocr_mldr.known_items TEXTS --out PASSAGES --langs de",
    )
    p.add_argument("folder", type=Path, help="with LANG/*.txt or LANG_*.txt")
    p.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    p.add_argument("--langs", nargs="+", required=True, metavar="LANG")
    p.add_argument(
        "--passages", type=int, default=200, metavar="N", help="a language (%(default)s)"
    )
    p.add_argument("--queries", type=int, default=100, metavar="N", help="a language (%(default)s)")
    p.add_argument(
        "--drop-words",
        type=int,
        default=0,
        metavar="N",
        help="of the start of each query's sentence, so that OCR reads it otherwise than in its "
        "passage (%(default)s)",
    )
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args(arguments)
    try:
        counts = write_known_items(
            args.folder,
            args.out,
            args.langs,
            n_passages=args.passages,
            n_queries=args.queries,
            seed=args.seed,
            dropped_words=args.drop_words,
        )
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for lang, (n_passages, n_queries) in counts.items():
        few = f" (of {args.queries} asked for)" if n_queries < args.queries else ""
        print(f"{lang}: {n_passages} passages, {n_queries} queries{few}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
