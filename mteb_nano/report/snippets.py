"""Result files -> what a model's Hub repository shows: `.eval_results/*.yaml` and a model-index."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import (
    EvalResult,
    EvalResultEntry,
    ModelCardData,
    eval_result_entries_to_yaml,
)

from mteb_nano.catalog import PUBLISHED
from mteb_nano.errors import UserError
from mteb_nano.report.boards import Board, make_boards
from mteb_nano.report.estimates import Resampling, estimate
from mteb_nano.report.records import MAIN_METRIC, METRIC_NAMES, Result, is_real_data

_SOURCE_NAME = "MTEB"
_SOURCE_URL = "https://github.com/embeddings-benchmark/mteb/"
_TASK_TYPES = {"page-retrieval": "visual-document-retrieval", "ocr-retrieval": "text-retrieval"}


def write_snippets(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write each model's snippets and return the files.

    `<folder>/<org__model>/.eval_results/<Task>.yaml` goes into the model's repository as it is;
    `model-index.yaml` into the metadata block of its README.md. Partial results have no mean, and
    results of sample or local data are no claims about a model: both are left out.

    Raises:
        UserError: No result is left, or a file cannot be written.
    """
    datasets = {name: dataset for dataset in PUBLISHED for name in dataset.task_names}
    boards = make_boards(r for r in results if r.task in datasets and is_real_data(r.data_revision))
    whole = [(b, r) for b in boards for r in b.results if not b.missing(r)]
    if not whole:
        raise UserError("no whole result of a published task on its real data: no snippets")
    written = []
    try:
        for model in sorted({result.model for _, result in whole}):
            own = [(board, result) for board, result in whole if result.model == model]
            written += _write_model(own, folder / model.replace("/", "__"))
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from None
    return written


def _write_model(own: Sequence[tuple[Board, Result]], folder: Path) -> list[Path]:
    written = []
    hub_ids = {name: dataset.hub_id for dataset in PUBLISHED for name in dataset.task_names}
    (folder / ".eval_results").mkdir(parents=True, exist_ok=True)
    for board, result in own:
        path = folder / ".eval_results" / f"{result.task}.yaml"
        entries = _entries(board, result, str(hub_ids[result.task]))
        path.write_text(_yaml(eval_result_entries_to_yaml(entries)), encoding="utf-8")
        written.append(path)
    evaluations = [e for board, result in own for e in _evaluations(board, result)]
    card = ModelCardData(model_name=own[0][1].model, eval_results=evaluations)
    index = folder / "model-index.yaml"
    index.write_text(card.to_yaml() + "\n", encoding="utf-8")
    return [*written, index]


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


def _mean(board: Board, result: Result) -> float:
    found = estimate(result, board.subsets, resampling=Resampling(n_resamples=0))
    return found.value if found else float("nan")


def _entries(board: Board, result: Result, hub_id: str) -> list[EvalResultEntry]:
    """Return the mean and each subset, in points, as mteb's own entries are."""
    values = {result.task: _mean(board, result)}
    for subset in board.subsets:
        score = result.subsets[subset].scores[MAIN_METRIC]
        values[f"{result.task}_{subset}_test"] = score
    return [
        EvalResultEntry(
            dataset_id=hub_id,
            task_id=task_id,
            value=round(100 * value, 5),
            dataset_revision=result.data_revision,
            source_url=_SOURCE_URL,
            source_name=_SOURCE_NAME,
            notes=f"{METRIC_NAMES[MAIN_METRIC]}, obtained using MTEB",
        )
        for task_id, value in values.items()
    ]


def _evaluations(board: Board, result: Result) -> list[EvalResult]:
    dataset = next(d for d in PUBLISHED if result.task in d.task_names)
    values = {"mean": _mean(board, result)}
    values |= {name: result.subsets[name].scores[MAIN_METRIC] for name in board.subsets}
    return [
        EvalResult(
            task_type=_TASK_TYPES[dataset.kind],
            dataset_type=str(dataset.hub_id),
            dataset_name=f"{result.task} ({name})",
            dataset_config=name,
            dataset_split="test",
            dataset_revision=result.data_revision,
            metric_type=MAIN_METRIC,
            metric_name=METRIC_NAMES[MAIN_METRIC],
            metric_value=round(value, 5),
            source_name=_SOURCE_NAME,
            source_url=_SOURCE_URL,
        )
        for name, value in values.items()
    ]
