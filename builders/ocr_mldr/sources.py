"""Where clean texts come from: a Hub repository, a folder in its layout, BEIR files, text files.

Every source gives, for a language, documents and queries as streams of (id, text), and relevance
labels. Layouts of a folder, each looked for in `FOLDER/LANG/` (BEIR and text files):

- BEIR: `corpus.jsonl` (`_id`, `text`, perhaps `title`), `queries.jsonl`, `qrels/test.tsv`;
- text files: `*.txt` (the id is the name without the ending), `queries.jsonl`, `qrels/test.tsv`;
- the Hub's: a `README.md` that names the configs `LANG-corpus`, `LANG-queries`, `LANG-qrels`.
"""

import abc
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
        f"source {folder}: expected LANG/corpus.jsonl (BEIR), LANG/*.txt, or a README.md that "
        "names configs (Hub layout), and found none of them"
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
            yield from _rows_to_texts(_jsonl(folder / "corpus.jsonl"), str(folder / "corpus.jsonl"))
            return
        paths = sorted(folder.glob("*.txt"))
        if not paths:
            raise UserError(f"{folder}: expected corpus.jsonl or *.txt, and found neither")
        for path in paths:
            yield path.stem, _read_text(path)

    def queries(self, lang: str) -> Texts:
        """Yield the queries of a language as (id, text)."""
        path = self._of(lang) / "queries.jsonl"
        yield from _rows_to_texts(_jsonl(path), str(path))

    def qrels(self, lang: str) -> Iterator[Qrel]:
        """Yield the relevance labels of a language."""
        path = self._of(lang) / "qrels" / f"{self._split}.tsv"
        lines = _read_text(path).splitlines()
        for row in csv.DictReader(lines, delimiter="\t"):
            yield _qrel(row, str(path))

    def describe(self) -> Mapping[str, Any]:
        """Return the folder's name; the sha256 of what was read goes beside it."""
        return {"source": self._folder.resolve().name, "revision": None, "split": self._split}

    def _of(self, lang: str) -> Path:
        folder = self._folder / lang
        if not folder.is_dir():
            found = ", ".join(sorted(p.name for p in self._folder.iterdir() if p.is_dir()))
            raise UserError(f"{self._folder}: expected a folder {lang}/, found: {found or 'none'}")
        return folder


class ConfigSource(abc.ABC):
    """Data in configs `LANG-corpus`, `LANG-queries`, `LANG-qrels`.

    With one language only they may be `corpus`, `queries`, and `default` or `qrels`.
    """

    def __init__(self, name: str, *, split: str) -> None:
        self._name = name
        self._split = split

    @abc.abstractmethod
    def _rows(self, lang: str, parts: tuple[str, ...]) -> Iterable[Any]: ...

    def documents(self, lang: str) -> Texts:
        """Yield the documents of a language as (id, text)."""
        yield from _rows_to_texts(self._rows(lang, ("corpus",)), f"{self._name} {lang}-corpus")

    def queries(self, lang: str) -> Texts:
        """Yield the queries of a language as (id, text)."""
        yield from _rows_to_texts(self._rows(lang, ("queries",)), f"{self._name} {lang}-queries")

    def qrels(self, lang: str) -> Iterator[Qrel]:
        """Yield the relevance labels of a language."""
        for row in self._rows(lang, ("qrels", "default")):
            yield _qrel(row, f"{self._name} {lang}-qrels")

    def _choose(self, lang: str, parts: tuple[str, ...], configs: Iterable[str]) -> str:
        wanted = [f"{lang}-{part}" for part in parts] + list(parts)
        found = [config for config in wanted if config in set(configs)]
        if not found:
            raise UserError(
                f"{self._name}: expected a config {wanted[0]}, found {', '.join(configs)}"
            )
        return found[0]


class LayoutSource(ConfigSource):
    """A folder in the Hub's layout: its README names configs and their parquet files.

    Read without `datasets`, whose cache can give the rows of another folder of the same name.
    """

    def __init__(self, folder: Path, *, split: str) -> None:
        super().__init__(str(folder), split=split)
        self._folder = folder

    def describe(self) -> Mapping[str, Any]:
        """Return the folder's name; the sha256 of what was read goes beside it."""
        return {"source": self._folder.resolve().name, "revision": None, "split": self._split}

    def _rows(self, lang: str, parts: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        configs = self._configs()
        patterns = configs[self._choose(lang, parts, configs)]
        # Corpora that all splits share are often one split of their own.
        mine = patterns.get(self._split) or (
            next(iter(patterns.values())) if len(patterns) == 1 else []
        )
        paths = sorted({path for pattern in mine for path in self._folder.glob(pattern)})
        if not paths:
            raise UserError(f"{self._name}: no files of {lang} {parts[0]}, split {self._split}")
        for path in paths:
            yield from _parquet(path)

    def _configs(self) -> dict[str, dict[str, list[str]]]:
        from huggingface_hub import metadata_load

        card = metadata_load(self._folder / "README.md") or {}
        found: dict[str, dict[str, list[str]]] = {}
        for config in card.get("configs", []):
            for files in config.get("data_files", []):
                paths = files["path"] if isinstance(files["path"], list) else [files["path"]]
                found.setdefault(config["config_name"], {})[files["split"]] = paths
        return found


class HubSource(ConfigSource):
    """A dataset of the Hub, read by `datasets` at one commit."""

    def __init__(self, name: str, *, split: str, revision: str | None) -> None:
        super().__init__(name, split=split)
        self._revision = _resolve(name, revision)

    def describe(self) -> Mapping[str, Any]:
        """Return repository and commit."""
        return {"source": self._name, "revision": self._revision, "split": self._split}

    def _rows(self, lang: str, parts: tuple[str, ...]) -> Iterable[Any]:
        import datasets  # a second of imports that a folder of files does not need
        from datasets.exceptions import DatasetsError

        datasets.disable_progress_bars()
        try:
            configs = datasets.get_dataset_config_names(self._name, revision=self._revision)
            config = self._choose(lang, parts, configs)
            return datasets.load_dataset(
                self._name, config, split=self._split_of(config), revision=self._revision
            )
        except (OSError, ValueError, DatasetsError) as error:
            if isinstance(error, UserError):
                raise
            raise UserError(f"{self._name}: cannot be loaded: {error}") from error

    def _split_of(self, config: str) -> str:
        import datasets

        splits = datasets.get_dataset_split_names(self._name, config, revision=self._revision)
        if self._split not in splits and len(splits) == 1:
            return str(splits[0])
        return self._split


def _resolve(name: str, revision: str | None) -> str:
    """Return the commit of a revision, so that all configs are read at the same one."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        commit = huggingface_hub.HfApi().dataset_info(name, revision=revision).sha
    except (HfHubHTTPError, OfflineModeIsEnabled, OSError) as error:
        if revision and len(revision) == 40:  # noqa: PLR2004, a git commit
            return revision  # the cache may have it
        raise UserError(f"{name}: the Hub does not answer: {error}") from None
    return str(commit)


def _rows_to_texts(rows: Iterable[Mapping[str, Any]], where: str) -> Texts:
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


def _qrel(row: Mapping[str, Any], where: str) -> Qrel:
    columns = {k.replace("-", "_"): v for k, v in row.items() if k}
    try:
        return Qrel(
            str(columns["query_id"]), str(columns["corpus_id"]), int(columns.get("score", 1))
        )
    except (KeyError, ValueError, TypeError):
        raise UserError(
            f"{where}: expected the columns query-id, corpus-id and score (a whole number), found "
            f"{dict(row)}"
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


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=64):
            yield from batch.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: expected a parquet file: {error}") from None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: expected UTF-8, byte {error.start} is not") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
