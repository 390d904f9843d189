"""Where clean texts come from: a Hub repository, a folder in its layout, BEIR files, text files.

Every source gives, for a language, documents and queries as streams of (id, text), and relevance
labels. Layouts of a folder, each looked for in `FOLDER/LANG/` (BEIR and text files):

- BEIR: `corpus.jsonl` (`_id`, `text`, perhaps `title`), `queries.jsonl`, `qrels/test.tsv`;
- text files: `*.txt` (the id is the name without the ending), `queries.jsonl`, `qrels/test.tsv`;
- the Hub's: a `README.md` that names the configs `LANG-corpus`, `LANG-queries`, `LANG-qrels`.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mteb_nano.errors import UserError

Texts = Iterator[tuple[str, str]]
_ID = ("_id", "id", "docid", "doc_id", "query_id", "corpus_id")
_TEXT = ("text", "query")


@dataclass(frozen=True)
class Qrel:
    """A relevance label."""

    query: str
    document: str
    score: int


class Source(Protocol):
    """Texts and labels of some languages; streams can be asked for again and again."""

    def documents(self, lang: str) -> Texts:
        """Yield the documents of a language as (id, text)."""
        ...

    def queries(self, lang: str) -> Texts:
        """Yield the queries of a language as (id, text)."""
        ...

    def qrels(self, lang: str) -> Iterator[Qrel]:
        """Yield the relevance labels of a language."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """Return name and revision, for the manifest."""
        ...


def open_source(name: str, *, split: str = "test", revision: str | None = None) -> Source:
    """Return the source that a folder's path or a Hub repository's name stands for.

    Raises:
        UserError: It is neither.
    """
    from builders.ocr_mldr.config_sources import HubSource, LayoutSource

    folder = Path(name)
    if not folder.is_dir():
        if name.count("/") != 1 or name.startswith((".", "/")):
            raise UserError(
                f"source {name!r}: expected a folder or a dataset of the Hub (org/name), and there "
                "is no such folder"
            )
        return HubSource(name, split=split, revision=revision)
    if any(folder.glob("*/corpus.jsonl")) or any(folder.glob("*/*.txt")):
        return FolderSource(folder, split=split)
    if (folder / "README.md").is_file():
        return LayoutSource(folder, split=split)
    raise UserError(
        f"source {folder}: expected LANG/corpus.jsonl (BEIR) or LANG/*.txt, either beside "
        f"LANG/queries.jsonl and LANG/qrels/{split}.tsv; or a README.md that names configs (Hub "
        "layout); and found none of them"
    )


class FolderSource:
    """BEIR files or text files below a folder, one folder a language."""

    def __init__(self, folder: Path, *, split: str) -> None:
        self._folder = folder
        self._split = split

    def documents(self, lang: str) -> Texts:
        """Yield the documents of a language as (id, text)."""
        folder = self._of(lang)
        if (folder / "corpus.jsonl").is_file():
            yield from texts_of(_jsonl(folder / "corpus.jsonl"), str(folder / "corpus.jsonl"))
            return
        paths = sorted(folder.glob("*.txt"))
        if not paths:
            raise UserError(f"{folder}: expected corpus.jsonl or *.txt, and found neither")
        for path in paths:
            yield path.stem, _read_text(path)

    def queries(self, lang: str) -> Texts:
        """Yield the queries of a language as (id, text)."""
        path = self._needed(lang, "queries.jsonl")
        yield from texts_of(_jsonl(path), str(path))

    def qrels(self, lang: str) -> Iterator[Qrel]:
        """Yield the relevance labels of a language."""
        path = self._needed(lang, f"qrels/{self._split}.tsv")
        rows = csv.DictReader(_read_text(path).splitlines(), delimiter="\t")
        head = [(name or "").replace("-", "_") for name in rows.fieldnames or ()]
        if not {"query_id", "corpus_id"} <= set(head):
            raise UserError(
                f"{path}: expected a first line with the names query-id, corpus-id and score, "
                f"separated by tabs, found {' '.join(head) or 'nothing'}"
            )
        for row in rows:
            yield qrel_of(row, str(path))

    def describe(self) -> Mapping[str, Any]:
        """Return the folder's name; the sha256 of what was read goes beside it."""
        return {"source": self._folder.resolve().name, "revision": None, "split": self._split}

    def _needed(self, lang: str, name: str) -> Path:
        path = self._of(lang) / name
        if not path.is_file():
            raise UserError(
                f"{path}: is missing; a source needs queries.jsonl (_id, text) and "
                f"qrels/{self._split}.tsv (query-id, corpus-id, score) beside its documents; from "
                "texts alone, python -m builders.ocr_mldr.known_items makes them"
            )
        return path

    def _of(self, lang: str) -> Path:
        folder = self._folder / lang
        if not folder.is_dir():
            found = ", ".join(sorted(p.name for p in self._folder.iterdir() if p.is_dir()))
            raise UserError(
                f"{self._folder}: expected a folder {lang}/, found: {found or 'none'}; --langs "
                "names the languages"
            )
        return folder


def texts_of(rows: Iterable[Mapping[str, Any]], where: str) -> Texts:
    """Yield id and text of rows, a title before its text; `where` is for error messages."""
    for number, row in enumerate(rows, start=1):
        key = next((k for k in _ID if k in row), None)
        text = next((row[k] for k in _TEXT if k in row), None)
        if key is None or not isinstance(text, str) or row[key] in {None, ""}:
            raise UserError(
                f"{where}, row {number}: expected an id ({', '.join(_ID[:3])}) and a text "
                f"({', '.join(_TEXT)}), found {', '.join(row)}"
            )
        title = row.get("title")
        yield str(row[key]), f"{title}\n{text}" if title else text


def qrel_of(row: Mapping[str, Any], where: str) -> Qrel:
    """Return the label of a row, whatever the hyphens of its columns."""
    columns = {k.replace("-", "_"): v for k, v in row.items() if k}
    try:
        return Qrel(
            str(columns["query_id"]), str(columns["corpus_id"]), int(columns.get("score", 1))
        )
    except (KeyError, ValueError, TypeError):
        raise UserError(
            f"{where}: expected the columns query-id, corpus-id and score (a whole number), found "
            f"{', '.join(f'{name}={value}' for name, value in row.items())}"
        ) from None


def _jsonl(path: Path) -> Iterator[dict[str, Any]]:
    number = 0
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise UserError(f"{path}, line {number}: expected an object, got {row!r}")
                    yield row
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}, line {number}: expected JSON in UTF-8, {error}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: expected UTF-8, byte {error.start} is not") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
