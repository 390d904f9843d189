"""Any mteb model as a miner: loaded by name, searched through mteb's own search protocol."""

import io
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr
from typing import Any

import numpy as np
import numpy.typing as npt

from builders.vidore.sources import Source
from mteb_nano.errors import UserError

Scores = npt.NDArray[np.float64]


class MtebMiner:
    """Scores every page of a source for its queries with a model of mteb's registry.

    A model that sees images gets images, any other the markdown.
    """

    def __init__(self, name: str, revision: str | None, *, batch_size: int, quiet: bool) -> None:
        self.meta = find_model(name, revision)
        self.about: dict[str, Any] = {
            "model": name,
            "revision": revision or self.meta.revision or "",
        }
        self.about["reads"] = "image" if "image" in (self.meta.modalities or ()) else "markdown"
        self._quiet = quiet
        self._encode = {"batch_size": batch_size, "show_progress_bar": not quiet}
        self._model: Any = None

    def score(self, source: Source, query_ids: Sequence[str]) -> Scores:
        """Return (n_queries, n_pages) scores, larger is closer.

        Pages that the model does not rank get a score below all that it does.
        """
        import datasets

        if self.about["reads"] == "markdown" and not source.has_text:
            raise UserError(
                f"{source.name}: none of its {len(source.page_ids):,} pages has text (scans?), and "
                f"{self.about['model']} reads text; name a miner that sees images, such as "
                "--miner mteb-nano/tesseract-bm25s"
            )
        model = self._load()
        common: dict[str, Any] = {
            "task_metadata": _task_metadata(source, self.about["reads"], query_ids),
            "hf_split": "test",
            "hf_subset": "default",
            "encode_kwargs": self._encode,
            "num_proc": None,
        }
        texts = [source.queries[query_id].text for query_id in query_ids]
        queries = datasets.Dataset.from_dict({"id": list(query_ids), "text": texts})
        # Some models draw progress bars that no argument turns off.
        silence = redirect_stderr(io.StringIO()) if self._quiet else nullcontext()
        with silence:
            model.index(self._corpus(source), **common)
            found = model.search(queries, top_k=len(source.page_ids), **common)
        return _matrix(source, query_ids, found)

    def _load(self) -> Any:
        """Return the model as mteb's retrieval task would wrap it, loaded once."""
        if self._model is None:
            from mteb.models import CrossEncoderProtocol, EncoderProtocol, SearchProtocol
            from mteb.models.search_wrappers import SearchEncoderWrapper

            try:
                model = self.meta.load_model()
            except ImportError as error:  # names the extra of mteb that the model needs
                raise UserError(f"--miner {self.about['model']}: {error}") from error
            if isinstance(model, CrossEncoderProtocol):
                raise UserError(
                    f"{self.about['model']}: reranks what another model found, so it cannot mine; "
                    "name an encoder, a late-interaction or a search model"
                )
            if isinstance(model, EncoderProtocol) and not isinstance(model, SearchProtocol):
                model = SearchEncoderWrapper(model)
            self._model = model
        return self._model

    def _corpus(self, source: Source) -> Any:
        """Return the pages as mteb passes a corpus to a model."""
        import datasets

        ids = list(source.page_ids)
        if self.about["reads"] == "markdown":
            columns = {"id": ids, "text": source.markdown.to_pylist(), "title": [""] * len(ids)}
            return datasets.Dataset.from_dict(columns)
        files: list[Any] = sorted(str(p) for p in (source.folder / "corpus").glob("*.parquet"))
        # The library knows a cached copy by the files' times alone: the name holds what is in them.
        pages: Any = datasets.Dataset.from_parquet(
            files, columns=["corpus_id", "image"], config_name=f"pages-{source.fingerprint[:32]}"
        )
        order = {str(page_id): row for row, page_id in enumerate(pages["corpus_id"])}
        pages = pages.select([order[page_id] for page_id in ids]).select_columns(["image"])
        return pages.cast_column("image", datasets.Image()).add_column("id", ids)


def find_model(name: str, revision: str | None) -> Any:
    """Return mteb's metadata of a model.

    Raises:
        UserError: mteb does not know the model and the Hub does not have it.
    """
    import mteb

    try:
        return mteb.get_model_meta(name, revision)
    except Exception as error:
        # mteb raises KeyError, ValueError or one of the Hub's own errors for an unknown name.
        raise UserError(
            f"--miner {name}: mteb cannot find this model ({type(error).__name__}: {error}); "
            "`mteb available-models` lists the names"
        ) from error


def _task_metadata(source: Source, reads: str, query_ids: Sequence[str]) -> Any:
    """Return the metadata that models look at for prompts, modality and language."""
    from mteb.abstasks.task_metadata import TaskMetadata

    from mteb_nano.languages import to_mteb

    languages = {source.queries[query_id].language for query_id in query_ids}
    return TaskMetadata(
        name="NanoViDoReV3Mining",
        description=f"Hard negatives of {source.name}",
        dataset={"path": source.origin, "revision": source.revision or "local"},
        type="DocumentUnderstanding" if reads == "image" else "Retrieval",
        category="t2i" if reads == "image" else "t2t",
        modalities=["text", "image"] if reads == "image" else ["text"],
        eval_langs=sorted(to_mteb(language) for language in languages),
        main_score="ndcg_at_10",
    )


def _matrix(source: Source, query_ids: Sequence[str], found: Any) -> Scores:
    """Return the search result as a matrix in the order of queries and pages."""
    scores = np.full((len(query_ids), len(source.page_ids)), -np.inf)
    for row, query_id in enumerate(query_ids):
        for page_id, score in found.get(query_id, {}).items():
            scores[row, source.row_of[page_id]] = score
    finite = scores[np.isfinite(scores)]
    floor = (finite.min() if len(finite) else 0.0) - 1.0
    # NaN stays, so that it is reported; -inf marks what was not ranked.
    scores[np.isneginf(scores)] = floor
    return scores
