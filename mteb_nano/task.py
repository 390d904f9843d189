"""What the tasks have in common: lazy revisions, loading, per-query and per-group scores."""

import fnmatch
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from mteb.abstasks.task_metadata import TaskMetadata
from pydantic import PrivateAttr

from mteb_nano import load, locate
from mteb_nano.catalog import Dataset
from mteb_nano.errors import UserError
from mteb_nano.shared_corpus import SharedCorpusRetrieval, check_rankings

_log = logging.getLogger(__name__)
SPLIT = "test"
SUBSETS_VARIABLE = "MTEB_NANO_SUBSETS"  # comma-separated globs of subset names, e.g. `de_*_ocr`


class NanoMetadata(TaskMetadata):
    """mteb's metadata of a task whose data may be elsewhere than published."""

    _row: Dataset = PrivateAttr()
    _read: str | None = PrivateAttr(default=None)

    @property
    def revision(self) -> str:
        """The revision that was read; before that, the one that would be read now."""
        return self._read or locate.revision_of(self._row)

    @property
    def descriptive_stat_path(self) -> Path:
        """Where descriptive statistics go: mteb's cache, not its installed package."""
        cache = os.environ.get("MTEB_CACHE") or Path.home() / ".cache" / "mteb"
        return Path(cache) / "descriptive_stats" / self.type / f"{self.name}.json"


def metadata_for(row: Dataset, *, name: str | None = None, **fields: Any) -> NanoMetadata:
    """Return the metadata of a task that reads a dataset.

    Args:
        row: The dataset.
        name: The task's name, the dataset's when None.
        **fields: Everything else that mteb's `TaskMetadata` takes.
    """
    where = {"path": row.hub_id or str(row.folder), "revision": row.revision}
    metadata = NanoMetadata(name=name or row.name, dataset=where, main_score="ndcg_at_10", **fields)
    metadata._row = row  # noqa: SLF001
    return metadata


class NanoTask(SharedCorpusRetrieval):
    """A task over one dataset of this project."""

    metadata: NanoMetadata  # type: ignore[assignment]
    row: ClassVar[Dataset]
    # Stock mteb's k, but for 1000: the card asks for Recall@100 and nobody reads more of 4,000.
    k_values: Sequence[int] = (1, 3, 5, 10, 20, 100)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._subsets: dict[str, load.Subset] = {}
        self._narrow()

    def _narrow(self) -> None:
        """Keep the subsets that the environment variable selects."""
        if patterns := os.environ.get(SUBSETS_VARIABLE):
            self.hf_subsets = matching(self.hf_subsets, patterns.split(","))

    def filter_languages(self, *args: Any, **kwargs: Any) -> Any:
        """Keep the subsets of these languages, and of those the selected ones."""
        super().filter_languages(*args, **kwargs)  # starts from all subsets again
        self._narrow()
        return self

    def load_subsets(self, names: Sequence[str]) -> dict[str, load.Subset]:
        """Return the data of these subsets."""
        raise NotImplementedError

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        """Read and check the data; raises a `UserError` that names every fault."""
        del num_proc, kwargs
        if self.data_loaded:
            return
        if not self.hf_subsets:
            patterns = os.environ.get(SUBSETS_VARIABLE)
            raise UserError(
                f"{SUBSETS_VARIABLE}={patterns} matches no subset of {self.metadata.name}; "
                f"they are {', '.join(self.metadata.hf_subsets[:4])} ..."
            )
        revision = self.metadata.revision
        self.metadata = self.metadata.model_copy()  # the class's stays free to change
        self.metadata._read = revision  # noqa: SLF001
        self._subsets = self.load_subsets(self.hf_subsets)
        self.dataset = {
            name: {
                SPLIT: {
                    "corpus": subset.corpus,
                    "queries": subset.queries,
                    "relevant_docs": subset.qrels,
                    "top_ranked": None,
                }
            }
            for name, subset in self._subsets.items()
        }
        self.data_loaded = True

    def unload_data(self) -> None:
        """Forget the data and the rankings."""
        self._subsets = {}
        super().unload_data()

    def corpus_key(self, subset: str, split: str) -> Hashable:
        """Return the digest of the corpus: equal texts are one corpus, whatever its name."""
        del split
        return self._subsets[subset].corpus_key

    def _evaluate_subset(self, model: Any, data_split: Any, **kwargs: Any) -> Any:
        try:
            return super()._evaluate_subset(model, data_split, **kwargs)
        except (OSError, SyntaxError) as error:
            load.raise_for_images(self.metadata.name, data_split["corpus"], error)
            raise

    def _save_task_predictions(
        self,
        predictions: Any,
        model: Any,
        prediction_folder: Path,
        hf_split: str,
        hf_subset: str,
    ) -> None:
        """Save as mteb does, in a copy that is then renamed: a kill leaves the last whole file.

        mteb would add them to another model's, under that one's name; those are dropped.
        """
        path = self._predictions_path(prediction_folder)
        keep = path.exists() and _are_of(path, model)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as beside:
            part = Path(beside) / path.name
            if keep:
                shutil.copyfile(path, part)
            super()._save_task_predictions(predictions, model, Path(beside), hf_split, hf_subset)
            part.replace(path)

    def task_specific_scores(  # type: ignore[override]
        self,
        scores: Mapping[str, Mapping[str, float]],
        qrels: Mapping[str, Mapping[str, int]],
        results: Mapping[str, Mapping[str, float]],
        hf_split: str,
        hf_subset: str,
    ) -> dict[str, Any]:
        """Return nDCG@10 of each group of queries, and three metrics of every query.

        `per_query` is metric -> query id -> score, so that intervals and paired tests need nothing
        but result files.
        """
        del hf_split
        check_rankings(results, list(qrels), hf_subset)  # a reranker's come unchecked until here
        ndcg = {query: row["ndcg_cut_10"] for query, row in scores.items()}
        groups: dict[str, list[float]] = {}
        for query, names in self._subsets[hf_subset].groups.items():
            for name in names:
                groups.setdefault(f"ndcg_at_10_{name}", []).append(ndcg[query])
        return {
            # Rounded as mteb rounds its own means.
            **{name: round(sum(g) / len(g), 5) for name, g in sorted(groups.items())},
            "per_query": {
                "ndcg_at_10": ndcg,
                "mrr_at_10": {q: reciprocal_rank(results[q], qrels[q], k=10) for q in scores},
                "recall_at_100": {query: row["recall_100"] for query, row in scores.items()},
            },
        }


def _are_of(path: Path, model: Any) -> bool:
    """Return whether a file of predictions is this model's: mteb writes whose it is first."""
    meta = {"model_name": model.mteb_model_meta.name, "revision": model.mteb_model_meta.revision}
    start = json.dumps({"mteb_model_meta": meta}).removesuffix("}")
    with path.open(encoding="utf-8", errors="replace") as file:
        same = file.read(len(start)) == start
    if not same:
        _log.warning("%s: holds another model's predictions, which are replaced", path)
    return same


def reciprocal_rank(ranked: Mapping[str, float], grades: Mapping[str, int], *, k: int) -> float:
    """Return 1 / rank of the first relevant document among the k best, or 0.

    Ties go to the larger document id, as in trec_eval and mteb.
    """
    best = sorted(ranked.items(), key=lambda item: (item[1], item[0]), reverse=True)[:k]
    ranks = (rank for rank, (document, _) in enumerate(best, 1) if grades.get(document, 0) > 0)
    first = next(ranks, None)
    return 1.0 / first if first else 0.0


def matching(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Return the names that match any of the globs, in their order."""
    globs = [pattern.strip() for pattern in patterns]
    return [name for name in names if any(fnmatch.fnmatchcase(name, glob) for glob in globs)]
