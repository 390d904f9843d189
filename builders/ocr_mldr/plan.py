"""What is to be recognised: the chosen documents of a language as a table of distinct sentences.

It is an SQLite file, so that memory stays the same however many documents there are. It is made
anew by each run (seconds, beside hours of OCR), so it can never be stale.
"""

import array
import hashlib
import heapq
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import xxhash

from builders.ocr_mldr.sentences import drawable, split_sentences
from builders.ocr_mldr.sources import Qrel, Source, Texts
from mteb_nano.errors import UserError

Kind = Literal["corpus", "queries"]
KINDS: tuple[Kind, ...] = ("corpus", "queries")
# The file is thrown away with the run: no journal, no waiting for the disk.
_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE text (kind TEXT, id TEXT, clean TEXT, sentences BLOB, PRIMARY KEY (kind, id));
CREATE TABLE sentence (number INTEGER PRIMARY KEY, hash BLOB UNIQUE, text TEXT);
"""


@dataclass(frozen=True)
class Text:
    """A document or query: its clean text, and the numbers of its sentences in their order."""

    id: str
    clean: str
    sentences: list[int]


class Plan:
    """The texts of a language and their distinct sentences, numbered from 0 as they first occur."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._db = sqlite3.connect(path)
        self._db.executescript(_TABLES)
        self.qrels: list[Qrel] = []
        self.characters: set[str] = set()
        self.sha256 = ""
        self.counts: dict[str, int] = {}

    def add(self, kind: Kind, texts: Iterable[tuple[str, str]]) -> None:
        """Keep texts, given as (id, drawable text); no id may come twice."""
        with self._db:
            rows = ((kind, key, clean, b"") for key, clean in texts)
            self._db.executemany("INSERT INTO text VALUES (?, ?, ?, ?)", rows)

    def number_sentences(self, lang: str, *, max_chars: int) -> None:
        """Cut all texts into sentences and number the distinct ones."""
        with self._db:
            for kind in KINDS:
                query = "SELECT id FROM text WHERE kind = ? ORDER BY id"
                ids = [key for (key,) in self._db.execute(query, (kind,))]
                for key in ids:
                    self._number_text((kind, key), lang, max_chars)

    def _number_text(self, key: tuple[str, str], lang: str, max_chars: int) -> None:
        query = "SELECT clean FROM text WHERE kind = ? AND id = ?"
        (clean,) = self._db.execute(query, key).fetchone()
        self.characters.update(clean)
        sentences = split_sentences(clean, lang, max_chars=max_chars)
        numbers = array.array("I", (self._number(sentence) for sentence in sentences))
        query = "UPDATE text SET sentences = ? WHERE kind = ? AND id = ?"
        self._db.execute(query, (numbers.tobytes(), *key))

    def _number(self, sentence: str) -> int:
        digest = xxhash.xxh128_digest(sentence.encode())
        query = "SELECT number FROM sentence WHERE hash = ?"
        row = self._db.execute(query, (digest,)).fetchone()
        if row is not None:
            return row[0]
        query = "INSERT INTO sentence SELECT coalesce(max(number) + 1, 0), ?, ? FROM sentence"
        return self._db.execute(query, (digest, sentence)).lastrowid or 0

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def texts(self, kind: Kind) -> Iterator[Text]:
        """Yield the texts of a kind in the order of their ids."""
        query = "SELECT id, clean, sentences FROM text WHERE kind = ? ORDER BY id"
        for key, clean, blob in self._db.execute(query, (kind,)):
            numbers = array.array("I")
            numbers.frombytes(blob)
            yield Text(key, clean, list(numbers))

    def n_texts(self, kind: Kind) -> int:
        """Return the number of texts of a kind."""
        return self._one("SELECT count(*) FROM text WHERE kind = ?", kind)

    @property
    def n_sentences(self) -> int:
        """The number of distinct sentences."""
        return self._one("SELECT count(*) FROM sentence")

    @property
    def n_characters(self) -> int:
        """The number of characters of the distinct sentences."""
        return self._one("SELECT coalesce(sum(length(text)), 0) FROM sentence")

    def sentences(self, start: int, stop: int) -> list[str]:
        """Return the distinct sentences with numbers in [start, stop)."""
        query = "SELECT text FROM sentence WHERE number >= ? AND number < ? ORDER BY number"
        return [text for (text,) in self._db.execute(query, (start, stop))]

    def shards(self, size: int) -> Iterator[list[str]]:
        """Yield the distinct sentences, `size` at a time."""
        for start in range(0, self.n_sentences, size):
            yield self.sentences(start, start + size)

    def _one(self, query: str, *values: str) -> int:
        return self._db.execute(query, values).fetchone()[0]


def make_plan(
    path: Path, source: Source, lang: str, *, n_documents: int, seed: int, max_chars: int
) -> Plan:
    """Choose a language's documents and cut them and its queries into sentences.

    All documents with a positive label are in, and a seeded draw of the others fills up to
    `n_documents`; all of them where the source has fewer. Queries without a positive label are
    left out. Documents without a character that has ink can be read by nobody: they are not drawn.

    Raises:
        UserError: The labels name unknown texts, more documents are judged than asked for, an id
            stands twice, or a judged text is blank. All faults of the language are named.
    """
    plan = Plan(path)
    plan.qrels, n_zero = _positive(source.qrels(lang))
    judged = {qrel.document for qrel in plan.qrels}
    asked = {qrel.query for qrel in plan.qrels}
    if len(judged) > n_documents:
        raise UserError(f"{lang}: {len(judged)} documents are judged, so --docs must be as many")
    chosen, n_blank = _draw(source.documents(lang), judged, n_documents, f"{seed} {lang}")
    n_texts = {
        "corpus": _store(plan, "corpus", source.documents(lang), chosen),
        "queries": _store(plan, "queries", source.queries(lang), asked),
    }
    faults = _faults(plan, judged, asked)
    if faults:
        raise UserError("\n".join(f"{lang}: {fault}" for fault in faults))
    plan.number_sentences(lang, max_chars=max_chars)
    plan.sha256 = _digest(plan)
    plan.counts = {
        **n_texts,
        "qrels": len(plan.qrels),
        "judged": len(judged),
        "blank_documents_passed_over": n_blank,
        "qrels_without_relevance_left_out": n_zero,
        "sentences": plan.n_sentences,
        "characters": plan.n_characters,
    }
    return plan


def _positive(qrels: Iterable[Qrel]) -> tuple[list[Qrel], int]:
    found = list(qrels)
    positive = [q for q in found if q.score > 0]
    return sorted(positive, key=lambda q: (q.query, q.document)), len(found) - len(positive)


def _draw(documents: Texts, judged: set[str], n: int, seed: str) -> tuple[set[str], int]:
    """Return the judged ids and those others with the smallest hashes; and how many were blank.

    A hash of seed and id draws the same documents whatever their order, and needs no list of ids.
    """
    n_blank = 0

    def others() -> Iterator[tuple[int, str]]:
        nonlocal n_blank
        for key, text in documents:
            if key in judged:
                continue
            if is_blank(text):
                n_blank += 1
            else:
                yield xxhash.xxh64_intdigest(f"{seed} {key}".encode(errors="replace")), key

    drawn = heapq.nsmallest(n - len(judged), others())
    return judged | {key for _, key in drawn}, n_blank


def is_blank(text: str) -> bool:
    """Return whether a text has no character that can be drawn."""
    return not drawable(text).strip()


def _store(plan: Plan, kind: Kind, texts: Texts, chosen: set[str]) -> int:
    seen: Counter[str] = Counter()

    def first() -> Texts:
        for key, text in texts:
            if key in chosen:
                seen[key] += 1
                if seen[key] == 1:
                    yield key, drawable(text)

    plan.add(kind, first())
    repeated = sorted(key for key, n in seen.items() if n > 1)
    if repeated:
        raise UserError(f"{kind}: {len(repeated)} ids stand twice: {', '.join(repeated[:3])}")
    return len(seen)


def _faults(plan: Plan, judged: set[str], asked: set[str]) -> list[str]:
    faults = []
    wanted_by_kind: dict[Kind, set[str]] = {"corpus": judged, "queries": asked}
    for kind, wanted in wanted_by_kind.items():
        found = {text.id for text in plan.texts(kind)}
        if unknown := sorted(wanted - found):
            faults.append(
                f"qrels name {len(unknown)} {kind} ids that do not exist: "
                f"{', '.join(unknown[:3])}; there are such as {', '.join(sorted(found)[:3])}"
            )
        blank = [t.id for t in plan.texts(kind) if not t.clean.strip()]
        if blank:
            faults.append(
                f"{kind}: {len(blank)} judged texts have nothing to draw: {', '.join(blank[:3])}"
            )
    if not judged:
        faults.append("qrels: no document has a positive label")
    return faults


def _digest(plan: Plan) -> str:
    digest = hashlib.sha256()
    for kind in KINDS:
        for text in plan.texts(kind):
            for part in (kind, text.id, text.clean):
                digest.update(len(part.encode()).to_bytes(8) + part.encode())
    for qrel in plan.qrels:
        digest.update(f"{qrel.query}\t{qrel.document}\t{qrel.score}\n".encode())
    return digest.hexdigest()
