"""One way to ask any model for embeddings: sentence-transformers, PyLate, or one's own."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import datasets
import torch
from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper
from mteb.types import PromptType
from torch.utils.data import DataLoader, Dataset

from mteb_nano.errors import UserError
from mteb_nano.evaluators.images import PageImages
from mteb_nano.evaluators.similarity import Embeddings, as_float32, is_single, similarity

_SPLIT = "test"
_BLOCK = 256  # pages handed to a model of one's own at once, so that decoded images stay few


class Documents(Dataset):
    """A corpus by row: `{"image": ..., "text": ...}`, whichever of them it has."""

    def __init__(self, corpus: datasets.Dataset, images: PageImages | None) -> None:
        self.ids: list[str] = list(corpus["id"])
        self.images = images
        # mteb strips documents, and leaves queries alone.
        has_text = "text" in corpus.column_names
        self.texts = [text.strip() for text in corpus["text"]] if has_text else None
        # mteb's wrappers look here for what a row holds.
        self.features = [name for name, column in self._columns() if column is not None]

    def _columns(self) -> list[tuple[str, Any]]:
        return [("image", self.images), ("text", self.texts)]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: column[index] for name, column in self._columns() if column is not None}


class _Texts(Dataset):
    features = ("text",)

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index: int) -> dict[str, str]:
        return {"text": self._texts[index]}


class Encoder(Protocol):
    """What an evaluator asks of a model."""

    def queries(self, texts: Sequence[str]) -> Embeddings:
        """Return the embeddings of one subset's queries."""
        ...

    def documents(self, documents: Documents) -> Iterator[Embeddings]:
        """Yield the embeddings of a corpus, in its order, in one or several pieces."""
        ...

    def similarity(self, queries: Embeddings, documents: Embeddings) -> torch.Tensor:
        """Return (n_queries, n_documents) similarities, float32."""
        ...


def encoder_for(
    model: Any, metadata: Any, *, batch_size: int, show_progress_bar: bool = False
) -> Encoder:
    """Return what asks this model.

    Args:
        model: A `SentenceTransformer`, a `MultiVectorEncoder`, a PyLate `ColBERT`, or any object
            with `encode_queries(texts, batch_size=)` and `encode_pages(pages, batch_size=)`.
        metadata: mteb's metadata of the task, by which sentence-transformers' prompts are chosen.
        batch_size: Texts or pages in a forward pass.
        show_progress_bar: For the libraries that have one.

    Raises:
        UserError: The model is none of these.
    """
    from sentence_transformers import SentenceTransformer

    options = {"batch_size": batch_size, "show_progress_bar": show_progress_bar}
    if hasattr(model, "encode_queries") and hasattr(model, "encode_pages"):
        return OwnModel(model, batch_size)
    if _is_pylate(model):
        return PyLate(model, options)
    if isinstance(model, SentenceTransformer) or _is_multi_vector(model):
        return SentenceTransformers(_mteb_wrapper(model), metadata, options)
    raise UserError(
        f"{type(model).__name__}: expected a SentenceTransformer, a MultiVectorEncoder, a PyLate "
        "ColBERT, or an object with encode_queries(texts, batch_size=) and "
        "encode_pages(pages, batch_size=); for colpali-engine models give the processor to "
        "NanoEvalCallback"
    )


def _mteb_wrapper(model: Any) -> Any:
    # mteb describes the model too, for result files, and tells the log what it cannot find out.
    log = logging.getLogger("mteb.models.model_meta")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        if _is_multi_vector(model):
            from mteb.models.sentence_transformer_wrapper import MultiVectorWrapper

            return MultiVectorWrapper(model)
        return SentenceTransformerEncoderWrapper(model)
    finally:
        log.setLevel(level)


def _is_pylate(model: Any) -> bool:
    return any(cls.__module__.startswith("pylate.") for cls in type(model).__mro__)


def _is_multi_vector(model: Any) -> bool:
    try:
        from sentence_transformers import MultiVectorEncoder
    except ImportError:  # before version 6
        return False
    return isinstance(model, MultiVectorEncoder)


class SentenceTransformers(Encoder):
    """Encode as `mteb run` does: with its wrapper, so with its prompts, batches and precision."""

    def __init__(self, wrapper: Any, metadata: Any, options: dict[str, Any]) -> None:
        self._wrapper = wrapper
        # mteb takes a model that it does not know for one of texts alone, and drops the images.
        sees = [m for m in ("text", "image") if m in getattr(wrapper.model, "modalities", ["text"])]
        meta = wrapper.mteb_model_meta.model_copy(update={"modalities": sees})
        wrapper.mteb_model_meta = meta
        self._where = {"task_metadata": metadata, "hf_split": _SPLIT, "hf_subset": ""}
        self._options = options
        # mteb keeps late interaction's encoding private, lest it be taken for a dense encoder's.
        self._encode = getattr(wrapper, "encode", None) or wrapper._encode  # noqa: SLF001

    def queries(self, texts: Sequence[str]) -> Embeddings:
        """Return the queries' embeddings."""
        return self._embed(_Texts(texts), PromptType.query)

    def documents(self, documents: Documents) -> Iterator[Embeddings]:
        """Yield the corpus's embeddings."""
        # One piece: the library sorts all texts by length, and batches change the last bits.
        yield self._embed(documents, PromptType.document)

    def similarity(self, queries: Embeddings, documents: Embeddings) -> torch.Tensor:
        """Return similarities in float32."""
        return torch.as_tensor(self._wrapper.similarity(queries, documents)).float().cpu()

    def _embed(self, rows: Dataset, prompt_type: PromptType) -> Embeddings:
        loader = DataLoader(rows, batch_size=self._options["batch_size"], collate_fn=_columns)
        return self._encode(loader, prompt_type=prompt_type, **self._where, **self._options)


class PyLate(Encoder):
    """Encode with PyLate; all pages are scored, where PyLate's index would approximate."""

    def __init__(self, model: Any, options: dict[str, Any]) -> None:
        self._model = model
        self._options = options

    def queries(self, texts: Sequence[str]) -> Embeddings:
        """Return the queries' embeddings."""
        return self._model.encode(list(texts), is_query=True, **self._options)

    def documents(self, documents: Documents) -> Iterator[Embeddings]:
        """Yield the corpus's embeddings."""
        yield self._model.encode(documents.texts, is_query=False, **self._options)

    def similarity(self, queries: Embeddings, documents: Embeddings) -> torch.Tensor:
        """Return similarities in float32."""
        return similarity(queries, documents)


class OwnModel(Encoder):
    """Encode with a model of one's own, block by block.

    Its `encode_pages` gets images, texts, or `{"image": ..., "text": ...}`, as the mode has it. Its
    own `similarity(queries, pages)` is used if it has one; else dot products, or MaxSim for
    matrices of token vectors.
    """

    def __init__(self, model: Any, batch_size: int) -> None:
        self._model = model
        self._batch_size = batch_size

    def queries(self, texts: Sequence[str]) -> Embeddings:
        """Return the queries' embeddings."""
        return self._model.encode_queries(list(texts), batch_size=self._batch_size)

    def documents(self, documents: Documents) -> Iterator[Embeddings]:
        """Yield the corpus's embeddings."""
        block = max(1, _BLOCK // self._batch_size) * self._batch_size
        for start in range(0, len(documents), block):
            rows = [documents[i] for i in range(start, min(start + block, len(documents)))]
            single = len(documents.features) == 1
            pages = [next(iter(row.values())) for row in rows] if single else rows
            yield self._model.encode_pages(pages, batch_size=self._batch_size)

    def similarity(self, queries: Embeddings, documents: Embeddings) -> torch.Tensor:
        """Return similarities in float32."""
        own = getattr(self._model, "similarity", None)
        scores = similarity(queries, documents) if own is None else own(queries, documents)
        return torch.as_tensor(scores).float().cpu()


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def refuse_blind(model: Any, documents: Documents, task: str) -> None:
    """Refuse a model that says that it cannot see pages, or not together with their text.

    Raises:
        UserError: It lists its modalities, and what the documents have is not among them.
    """
    if documents.images is None:
        return
    known = ["text"] if _is_pylate(model) else getattr(model, "modalities", None)
    if known is not None and "image" not in known:
        raise UserError(
            f"{type(model).__name__} reads {', '.join(map(str, known))}, and {task} serves page "
            "images: use mode='markdown', the same pages as text"
        )
    supports = getattr(model, "supports", None)
    if documents.texts is not None and supports and not supports(("image", "text")):
        raise UserError(
            f"{type(model).__name__} takes an image or a text, and {task} serves both as one page: "
            "use mode='image' or mode='markdown'"
        )


def refuse_nan(embeddings: Embeddings, ids: Sequence[str], what: str) -> None:
    """Refuse embeddings that are not finite: pytrec_eval would rank NaN in silence.

    Raises:
        UserError: Names the pages or queries.
    """
    if len(embeddings) != len(ids):
        raise UserError(f"the model gave {len(embeddings)} embeddings for {len(ids)} {what}")
    if is_single(embeddings) and _is_finite(as_float32(embeddings)):
        return
    pairs = zip(ids, embeddings, strict=True)
    wrong = [name for name, embedding in pairs if not _is_finite(embedding)]
    if wrong:
        more = ", ..." if len(wrong) > 5 else ""  # noqa: PLR2004
        raise UserError(
            f"the embeddings of {len(wrong)} of {len(ids)} {what} are NaN or infinite: "
            f"{', '.join(wrong[:5])}{more}; no score is given (half precision overflow, or "
            "training diverged?)"
        )


def _is_finite(embedding: Any) -> bool:
    return bool(torch.isfinite(torch.as_tensor(embedding)).all())
