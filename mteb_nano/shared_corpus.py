"""Search each distinct corpus once, for all the subsets that use it.

mteb evaluates a task subset by subset and encodes the corpus anew each time: 8 times for the pages
of NanoViDoRe v3, 60 times for the 20 distinct corpora of OCR-MLDR. Here the first subset of a
group searches for the whole group, and the others read their own queries' rankings. The search is
mteb's own; queries are still encoded, and compared, subset by subset, because the last bits of an
embedding depend on its batch. So every score is what stock mteb gives.
"""

import contextlib
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, cast

import datasets
import torch
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.models import (
    CrossEncoderProtocol,
    EncoderProtocol,
    SearchEncoderWrapper,
    SearchProtocol,
)
from mteb.models.sentence_transformer_wrapper import MultiVectorSearchEncoderWrapper
from mteb.types import PromptType
from torch.utils.data import DataLoader

from mteb_nano.errors import UserError

Rankings = dict[str, dict[str, float]]  # query id -> document id -> score
_Reference = Callable[[], object]
_SEPARATOR = "\x1f"  # between subset and query id in the union of a group's queries


class SharedCorpusRetrieval(AbsTaskRetrieval):
    """A retrieval task that encodes each distinct corpus once per evaluation.

    Subclasses fill `dataset` in `load_data` and say in `corpus_key` which subsets share a corpus.
    """

    # model, run (its timer), and split -> subset -> rankings that no subset has read yet
    _shared: tuple[_Reference, _Reference, dict[str, dict[str, Rankings]]] | None = None

    def corpus_key(self, subset: str, split: str) -> Hashable:
        """Return a value that is equal for subsets with equal corpora."""
        raise NotImplementedError

    def unload_data(self) -> None:
        """Forget the data and the rankings."""
        self._shared = None
        super().unload_data()

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle keeps: not the rankings, they are of one model and run."""
        return {name: value for name, value in vars(self).items() if name != "_shared"}

    def _evaluate_subset(
        self,
        model: Any,
        data_split: Any,
        *,
        hf_split: str,
        hf_subset: str,
        timer: Any,
        **kwargs: Any,
    ) -> Any:
        shares = isinstance(model, EncoderProtocol | SearchProtocol)
        if shares and not isinstance(model, CrossEncoderProtocol):
            group = self._group_of(hf_subset, hf_split)
            model = _GroupSearch(model, group, self._rankings(model, timer, hf_split))
        return super()._evaluate_subset(
            model, data_split, hf_split=hf_split, hf_subset=hf_subset, timer=timer, **kwargs
        )

    def _rankings(self, model: object, timer: object, split: str) -> dict[str, Rankings]:
        """Return the rankings that wait for their subsets: those of this model and this run.

        mteb makes one timer a run. Without it in the key, a run that was interrupted would leave
        rankings of a model that has been trained further since.
        """
        if self._shared is None or self._shared[0]() is not model or self._shared[1]() is not timer:
            self._shared = (_reference(model), _reference(timer), {})
        return self._shared[2].setdefault(split, {})

    def _group_of(self, subset: str, split: str) -> dict[str, Mapping[str, Any]]:
        """Return the subsets that share a corpus and its languages with this one, and their data.

        The languages belong to it because models look at them: bm25s picks its stemmer by them.
        """
        languages = self.metadata.hf_subsets_to_langscripts

        def key(name: str) -> Hashable:
            return self.corpus_key(name, split), tuple(languages[name])

        return {
            name: self.dataset[name][split]
            for name in self.hf_subsets
            if split in self.dataset.get(name, {}) and key(name) == key(subset)
        }


def _reference(thing: object) -> _Reference:
    try:
        return weakref.ref(thing)
    except TypeError:  # a class with `__slots__`
        return lambda: thing


class _GroupSearch(SearchEncoderWrapper):
    """What mteb's evaluator searches with: a whole group at the first subset, then from memory.

    It is a `SearchEncoderWrapper` only so that the evaluator hands over its timer.
    """

    def __init__(
        self, model: Any, group: Mapping[str, Mapping[str, Any]], rankings: dict[str, Any]
    ) -> None:
        super().__init__(model)
        self._group = group
        self._rankings = rankings
        self._index: dict[str, Any] = {}

    def index(self, corpus: Any, **kwargs: Any) -> None:
        self._index = {"corpus": corpus, **kwargs}

    def search(self, queries: Any, *, hf_subset: str, top_ranked: Any = None, **kwargs: Any) -> Any:
        del top_ranked  # the group's own are used
        if hf_subset not in self._rankings:
            self._search_group(hf_subset=hf_subset, **kwargs)
        found = self._rankings.pop(hf_subset)
        check_rankings(found, queries["id"], hf_subset)
        return found

    def _search_group(self, *, timer: Any, **kwargs: Any) -> None:
        union, sizes = _union_of_queries(self._group)
        search: Any = self.model
        with contextlib.ExitStack() as stack:
            if isinstance(search, MultiVectorSearchEncoderWrapper):
                search = _GroupMultiVector(search, sizes)
                kwargs["timer"] = timer
            elif not isinstance(search, SearchProtocol):
                encoder = cast("EncoderProtocol", _GroupEncoder(search, sizes))
                search = SearchEncoderWrapper(encoder)
                kwargs["timer"] = timer
            else:  # mteb's evaluator would time its two steps; here they are one
                where = {"split": kwargs["hf_split"], "subset": kwargs["hf_subset"]}
                stack.enter_context(timer("Searching corpus", **where))
            # Some searchers drop the corpus after a search: one `search` for each `index`.
            search.index(**{**self._index, "hf_subset": kwargs["hf_subset"]})
            ranked = search.search(union, top_ranked=_union_of_candidates(self._group), **kwargs)
        for subset in self._group:
            self._rankings[subset] = {}
        for key, documents in ranked.items():
            subset, query = key.split(_SEPARATOR, 1)
            self._rankings[subset][query] = documents


def _union_of_queries(
    group: Mapping[str, Mapping[str, Any]],
) -> tuple[datasets.Dataset, list[tuple[str, int]]]:
    """Return all queries of a group under `subset SEPARATOR id`, and how many each subset has."""
    parts, sizes = [], []
    for subset, data in group.items():
        queries, qrels = data["queries"], data["relevant_docs"]
        # As mteb does before it searches: a query without relevant documents is not asked.
        kept = queries.select([i for i, q in enumerate(queries["id"]) if qrels.get(q)])
        ids = [f"{subset}{_SEPARATOR}{query}" for query in kept["id"]]
        parts.append(kept.remove_columns("id").add_column("id", ids))
        sizes.append((subset, len(ids)))
    return datasets.concatenate_datasets(parts), sizes


def _union_of_candidates(group: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]] | None:
    """Return the documents to rerank for each query, or None when the corpus is to be searched."""
    candidates = {
        f"{subset}{_SEPARATOR}{query}": documents
        for subset, data in group.items()
        for query, documents in (data["top_ranked"] or {}).items()
    }
    return candidates or None


def check_rankings(
    rankings: Mapping[str, Mapping[str, float]], query_ids: Sequence[str], subset: str
) -> None:
    """Refuse what pytrec_eval would pass over in silence: NaN is ranked, a lost query dropped."""
    lost = [q for q in query_ids if q not in rankings]
    if lost:
        raise UserError(
            f"{subset}: the model ranked no documents for {len(lost)} queries: {lost[:3]}"
        )
    nans = [q for q in query_ids if any(score != score for score in rankings[q].values())]  # noqa: PLR0124
    if nans:
        raise UserError(
            f"{subset}: the model's similarities are NaN for {len(nans)} queries: {nans[:3]}; "
            "no score is written (half precision overflow? try float32 or bfloat16)"
        )


class _Parts(list):
    """Query embeddings, one entry a subset; by index, the embedding of a query of the union."""

    def __getitem__(self, index: Any) -> Any:
        for part in self:
            if index < len(part):
                return part[index]
            index -= len(part)
        raise IndexError(index)


class _BySubset:
    """Encode and compare the union of a group's queries subset by subset, as stock mteb would."""

    def __init__(self, model: Any, sizes: Sequence[tuple[str, int]]) -> None:
        self.model = model
        self.mteb_model_meta = model.mteb_model_meta
        self._sizes = sizes

    def _encode_parts(self, encode: Any, inputs: DataLoader, **kwargs: Any) -> Any:
        if kwargs.get("prompt_type") != PromptType.query:
            return encode(inputs, **kwargs)
        parts, known, start = _Parts(), {}, 0
        for subset, size in self._sizes:
            rows = cast("datasets.Dataset", inputs.dataset).select(range(start, start + size))
            start += size
            # OCR-MLDR asks a corpus the same clean queries once for each setting.
            texts = tuple(rows["text"]) if "text" in rows.column_names else subset
            if texts not in known:
                known[texts] = encode(_loader_like(inputs, rows), **{**kwargs, "hf_subset": subset})
            parts.append(known[texts])
        return parts

    def similarity(self, queries: Any, documents: Any) -> Any:
        if not isinstance(queries, _Parts):
            return self.model.similarity(queries, documents)
        scores = [torch.as_tensor(self.model.similarity(part, documents)) for part in queries]
        return torch.cat(scores)


class _GroupEncoder(_BySubset):
    def encode(self, inputs: DataLoader, **kwargs: Any) -> Any:
        return self._encode_parts(self.model.encode, inputs, **kwargs)

    def similarity_pairwise(self, queries: Any, documents: Any) -> Any:
        return self.model.similarity_pairwise(queries, documents)


class _GroupMultiVector(_BySubset, MultiVectorSearchEncoderWrapper):
    def __init__(self, model: Any, sizes: Sequence[tuple[str, int]]) -> None:
        super().__init__(model, sizes)
        self.corpus_chunk_size = model.corpus_chunk_size

    def _encode(self, inputs: DataLoader, **kwargs: Any) -> Any:
        return self._encode_parts(self.model._encode, inputs, **kwargs)  # noqa: SLF001


def _loader_like(loader: DataLoader, rows: Any) -> DataLoader:
    return DataLoader(
        rows,
        batch_size=loader.batch_size,
        collate_fn=loader.collate_fn,
        num_workers=loader.num_workers,
        shuffle=False,
    )
