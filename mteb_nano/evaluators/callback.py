"""The evaluators for any transformers `Trainer`, colpali-engine's `ContrastiveTrainer` included."""

import weakref
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from mteb_nano.errors import UserError
from mteb_nano.evaluators.base import NanoEvaluator
from mteb_nano.evaluators.colpali import ColpaliEncoder

_PREFIX = "eval_"  # of every metric that a Trainer reads


class NanoEvalCallback(TrainerCallback):
    """Evaluate whenever the Trainer does; the scores join its own metrics.

        trainer = ContrastiveTrainer(...)
        NanoEvalCallback(NanoViDoReV3Evaluator(), processor=processor).attach(trainer)

    So `metric_for_best_model=f"eval_{evaluator.primary_metric}"` picks the best checkpoint, and the
    scores go wherever the Trainer logs to. Files go to `output_dir/eval`.

    Args:
        evaluator: Which evaluation.
        processor: Of a colpali-engine model; the Trainer's model then needs no methods of its own.
        eval_steps: Evaluate after each so many steps besides, for a Trainer that has no evaluation.
            These scores are logged; a best checkpoint is only picked by the Trainer's own.
    """

    def __init__(
        self, evaluator: NanoEvaluator, *, processor: Any = None, eval_steps: int | None = None
    ) -> None:
        self.evaluator = evaluator
        self._processor = processor
        self._eval_steps = eval_steps
        self._trainer: weakref.ref[Any] | None = None
        self._last: tuple[int, dict[str, float]] | None = None  # of this training: step, scores
        self._training = False

    def attach(self, trainer: Any) -> "NanoEvalCallback":
        """Add this callback to a Trainer, through which it logs; returns itself.

        Raises:
            UserError: The Trainer's model cannot be evaluated.
        """
        self._trainer = weakref.ref(trainer)
        if not any(callback is self for callback in trainer.callback_handler.callbacks):
            trainer.add_callback(self)
        self.evaluator.check(self._wrapped(trainer.model))
        return self

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Refuse to train without a Trainer to log to."""
        del args, state, control, kwargs
        if self._trainer is None:
            raise UserError("NanoEvalCallback: call attach(trainer) before trainer.train()")
        self._last, self._training = None, True

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Add the scores to the metrics that the Trainer picks its best checkpoint by."""
        del control
        scores = self._scores(args, state, kwargs["model"])
        if kwargs.get("metrics") is not None:
            kwargs["metrics"].update(scores)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Evaluate after each `eval_steps` steps."""
        del control
        if self._eval_steps and state.global_step % self._eval_steps == 0:
            self._scores(args, state, kwargs["model"])

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Reuse no score from here on: the Trainer may have loaded another checkpoint."""
        del args, state, control, kwargs
        self._training = False

    def _scores(self, args: Any, state: Any, model: Any) -> dict[str, float]:
        """Return the scores of this step, evaluated and logged once, however often it is asked.

        A Trainer with several evaluation sets calls once for each.
        """
        if self._training and self._last is not None and self._last[0] == state.global_step:
            return self._last[1]
        found = self.evaluator(
            self._wrapped(model),
            output_path=Path(args.output_dir) / "eval",
            epoch=-1 if state.epoch is None else state.epoch,
            steps=state.global_step,
        )
        scores = {f"{_PREFIX}{key}": value for key, value in found.items()}
        self._last = (state.global_step, scores)
        trainer = self._trainer() if self._trainer else None
        if trainer is not None:
            trainer.log(dict(scores))  # the Trainer had logged its own before it called
        return scores

    def _wrapped(self, model: Any) -> Any:
        return model if self._processor is None else ColpaliEncoder(model, self._processor)
