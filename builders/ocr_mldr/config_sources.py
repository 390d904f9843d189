"""Sources in the Hub's layout: a repository, or a folder made like one."""

import abc
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from builders.ocr_mldr.sources import Qrel, Texts, qrel_of, texts_of
from mteb_nano.errors import UserError


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
        yield from texts_of(self._rows(lang, ("corpus",)), f"{self._name} {lang}-corpus")

    def queries(self, lang: str) -> Texts:
        """Yield the queries of a language as (id, text)."""
        yield from texts_of(self._rows(lang, ("queries",)), f"{self._name} {lang}-queries")

    def qrels(self, lang: str) -> Iterator[Qrel]:
        """Yield the relevance labels of a language."""
        for row in self._rows(lang, ("qrels", "default")):
            yield qrel_of(row, f"{self._name} {lang}-qrels")

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

        datasets.disable_progress_bars()
        try:
            configs = datasets.get_dataset_config_names(self._name, revision=self._revision)
            config = self._choose(lang, parts, configs)
            return datasets.load_dataset(
                self._name, config, split=self._split_of(config), revision=self._revision
            )
        except UserError:
            raise
        except Exception as error:  # the library's, the Hub client's and its transport's errors
            raise UserError(f"{self._name}: cannot be loaded: {error}") from error

    def _split_of(self, config: str) -> str:
        import datasets

        splits = datasets.get_dataset_split_names(self._name, config, revision=self._revision)
        if self._split not in splits and len(splits) == 1:
            return str(splits[0])
        return self._split


def _resolve(name: str, revision: str | None) -> str:
    """Return the commit of a revision, so that all configs are read at the same one.

    The Hub is asked even for a commit: the client that loads tries again and again for half a
    minute where there is no network.
    """
    import huggingface_hub
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE and revision and re.fullmatch("[0-9a-f]{40}", revision):
        return revision  # the cache may have it
    try:
        return str(huggingface_hub.HfApi().dataset_info(name, revision=revision).sha)
    except Exception as error:  # the Hub's client raises its transport's errors too
        raise UserError(
            f"{name}: cannot be had from the Hub ({error}); what its cache has at a full commit is "
            "read with HF_HUB_OFFLINE=1"
        ) from error


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=64):
            yield from batch.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: expected a parquet file: {error}") from None
