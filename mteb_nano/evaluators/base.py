"""What the evaluators have in common: when to evaluate, what to log, what to write."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

try:
    from sentence_transformers.base.evaluation import BaseEvaluator
except ImportError:  # before version 6
    from sentence_transformers.evaluation import (  # type: ignore[no-redef]
        SentenceEvaluator as BaseEvaluator,
    )

from mteb_nano.errors import UserError
from mteb_nano.evaluators import encoders, limits
from mteb_nano.evaluators.distributed import FirstRank, is_first_rank
from mteb_nano.evaluators.encoders import Documents, Encoder
from mteb_nano.evaluators.files import Writer
from mteb_nano.evaluators.fit import fit_for
from mteb_nano.evaluators.images import PageImages
from mteb_nano.evaluators.material import Material
from mteb_nano.evaluators.scoring import Scores, score_all
from mteb_nano.evaluators.state import left_as_found
from mteb_nano.evaluators.summary import Shown, fitting, summary
from mteb_nano.evaluators.tokens import TokenIds


@dataclass(frozen=True)
class Options:
    """How to evaluate; the same for all evaluators, which explain each."""

    batch_size: int = 32
    every_n_evals: int = 1
    max_image_pixels: int | None = None
    cache_mb: int = 1000
    cache_folder: str | Path | None = None
    write_csv: bool = True
    model_name: str | None = None
    show_progress_bar: bool = False

    def __post_init__(self) -> None:
        counts = ("batch_size", "every_n_evals", "max_image_pixels")
        refuse_counts({name: getattr(self, name) for name in counts})
        refuse_counts({"cache_mb": self.cache_mb}, least=0)
        if self.cache_folder is not None and not Path(self.cache_folder).is_dir():
            raise UserError(f"cache_folder={str(self.cache_folder)!r}: there is no such folder")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Options":
        """Return the options as they were given to an evaluator.

        Raises:
            UserError: One is unknown, or has a value that it cannot have.
        """
        known = [field.name for field in fields(cls)]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise UserError(
                f"unknown option {', '.join(unknown)}; beside its own arguments an evaluator takes "
                f"{', '.join(known)}"
            )
        return cls(**given)


def refuse_counts(counts: Mapping[str, Any], least: int = 1) -> None:
    """Refuse what is not a whole number of `least` or more; None is passed over.

    Raises:
        UserError: Names all of them.
    """
    given = {name: value for name, value in counts.items() if value is not None}
    wrong = [
        f"{name}={value!r}"
        for name, value in given.items()
        if isinstance(value, bool) or not isinstance(value, int) or value < least
    ]
    if wrong:
        raise UserError(f"{', '.join(wrong)}: expected a whole number of {least} or more")


class NanoEvaluator(BaseEvaluator):
    """An evaluator over material that a subclass has read.

    Args:
        name: Stands before each key.
        material: What is asked.
        metadata: mteb's metadata of the task, by which prompts are chosen.
        data_revision: Of the data, as in a result file.
        shown: The groups whose means are logged.
        config: What was asked for; for model cards and files.
        options: How to evaluate.

    Attributes:
        per_query: nDCG@10 by subset and query, of the last evaluation; on rank 0.
    """

    def __init__(
        self,
        *,
        name: str,
        material: Material,
        metadata: Any,
        data_revision: str,
        shown: Sequence[Shown],
        config: Mapping[str, Any],
        options: Options,
    ) -> None:
        super().__init__()
        self.name = name
        self.data_revision = data_revision
        self.material = material
        self.greater_is_better = True
        self.primary_metric = f"{name}_mean_ndcg@10"
        self.per_query: Scores = {}
        self._metadata, self._options = metadata, options
        self._shown = fitting(shown)
        self._config = {**config, "data_revision": data_revision, "batch_size": options.batch_size}
        self._writer = Writer(name) if options.write_csv else None
        self._calls = 0
        self._first_rank = FirstRank()
        self._tokens = TokenIds(options.cache_mb)
        self._documents = [
            Documents(search.documents, self._images(search.documents))
            for search in material.searches
        ]

    def _images(self, corpus: Any) -> PageImages | None:
        if "image" not in corpus.column_names:
            return None
        folder = self._options.cache_folder
        return PageImages(
            corpus,
            max_pixels=self._options.max_image_pixels,
            memory_mb=self._options.cache_mb,
            folder=Path(folder) if folder else None,
        )

    @property
    def description(self) -> str:
        """The name, for model cards."""
        return self.name

    @property
    def keys(self) -> list[str]:
        """The keys that every call returns, in their order; at most 20."""
        names = ["mean_ndcg@10", "mean_ndcg@10_low", "mean_ndcg@10_high"]
        names += [f"{group.name}_ndcg@10" for group in self._shown]
        return [f"{self.name}_{key}" for key in (*names, "seconds")]

    def get_config_dict(self) -> dict[str, Any]:
        """What was evaluated, for model cards and the file beside the scores."""
        return dict(self._config)

    def check(self, model: Any) -> None:
        """Refuse a model that cannot be evaluated, without encoding anything.

        Raises:
            UserError: It is of no known kind, or cannot see the page images that are asked of it.
        """
        self._encoder(model)

    def __call__(
        self,
        model: Any,
        output_path: str | Path | None = None,
        epoch: float = -1,
        steps: int = -1,
        **_: Any,
    ) -> dict[str, float]:
        """Return the scores of a model, and write them when a path is given.

        Under `torch.distributed` every rank must call; rank 0 evaluates and all get its scores. The
        others wait for up to a day in a gloo group of their own, so NCCL's ten minutes do not end
        the job. A sentence-transformers 6 trainer shares encoding over the ranks and waits in its
        own group instead: give it a `ddp_timeout` (seconds) longer than an evaluation.

        Raises:
            UserError: The model cannot be evaluated, or its embeddings are not finite.
        """
        if steps >= 0:  # a trainer's; a call by hand wants its score now
            self._calls += 1
            if (self._calls - 1) % self._options.every_n_evals:
                # NaN is "not measured": a repeated score would look like a new one.
                return dict.fromkeys(self.keys, math.nan)
        if is_first_rank() and output_path is not None:
            _make_folder(Path(output_path))  # now, not after minutes of evaluation
        metrics = self._first_rank(lambda: self._evaluate(model), model)
        if is_first_rank():
            self._record(model, metrics, output_path, epoch, steps)
        return dict(metrics)

    def _evaluate(self, model: Any) -> dict[str, float]:
        start = time.perf_counter()
        encoder = self._encoder(model)
        for documents in self._documents:
            if documents.images is not None:
                documents.images.fit_to(fit_for(model))
        with left_as_found(model), self._tokens.kept_for(model):
            self.per_query = score_all(encoder, self.material, self._documents)
        values = summary(self.per_query, self._shown)
        return dict(zip(self.keys, (*values, time.perf_counter() - start), strict=True))

    def _encoder(self, model: Any) -> Encoder:
        for documents in self._documents:
            encoders.refuse_blind(model, documents, self.name)
        return encoders.encoder_for(
            model,
            self._metadata,
            batch_size=self._options.batch_size,
            show_progress_bar=self._options.show_progress_bar,
        )

    def _record(
        self,
        model: Any,
        metrics: dict[str, float],
        output_path: str | Path | None,
        epoch: float,
        steps: int,
    ) -> None:
        if any(documents.images for documents in self._documents):
            self._config["model_image_size"] = limits.image_limits(model)
        if hasattr(model, "model_card_data"):
            self.store_metrics_in_model_card_data(model, metrics, epoch, steps)  # type: ignore[arg-type]
        if output_path is None or self._writer is None:
            return
        folder = Path(output_path)
        self._writer.write_config(folder, self._config)
        self._writer.add_row(folder, {"epoch": epoch, "steps": steps, **metrics})
        self._writer.add_scores(
            folder,
            self.per_query,
            data_revision=self.data_revision,
            model=self._options.model_name or limits.name_of(model),
            step=steps,
        )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"output_path={str(folder)!r}: cannot be made a folder: {error}") from error
