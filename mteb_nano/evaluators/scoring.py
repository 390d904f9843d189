"""Similarities -> graded nDCG@10 of each query, as trec_eval and `mteb run` compute it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytrec_eval
import torch

from mteb_nano.errors import UserError
from mteb_nano.evaluators.encoders import Documents, Encoder, refuse_nan
from mteb_nano.evaluators.material import Material

Scores = dict[str, dict[str, float]]  # subset -> query id -> nDCG@10
K = 10


def ndcg_at_10(
    scores: torch.Tensor,
    query_ids: Sequence[str],
    document_ids: Sequence[str],
    qrels: Mapping[str, Mapping[str, int]],
) -> dict[str, float]:
    """Return nDCG@10 of each query; gains are the grades, equal scores go to the larger id.

    mteb keeps 1,000 documents of a ranking before it breaks ties, so where more than that tie for
    the tenth place (a model that has collapsed) its score is another one of many.

    Args:
        scores: (n_queries, n_documents), finite.
        query_ids: Names of the rows.
        document_ids: Names of the columns.
        qrels: Query id -> document id -> grade.

    Source: trec_eval's ndcg_cut.10, by pytrec_eval.
    """
    ranked = _best(scores, query_ids, document_ids)
    judged = {query: dict(qrels[query]) for query in query_ids}
    by_query = pytrec_eval.RelevanceEvaluator(judged, {f"ndcg_cut.{K}"}).evaluate(ranked)
    return {query: by_query[query][f"ndcg_cut_{K}"] for query in query_ids}


def _best(
    scores: torch.Tensor, query_ids: Sequence[str], document_ids: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return the 10 best documents of each query, and all that tie with the tenth."""
    tenth = torch.topk(scores, min(K, scores.shape[1]), dim=1).values[:, -1:]
    rows, columns = (scores >= tenth).nonzero(as_tuple=True)
    ranked: dict[str, dict[str, float]] = {query: {} for query in query_ids}
    found = zip(rows.tolist(), columns.tolist(), scores[rows, columns].tolist(), strict=True)
    for row, column, value in found:
        ranked[query_ids[row]][document_ids[column]] = value
    return ranked


def score_all(encoder: Encoder, material: Material, documents: Sequence[Documents]) -> Scores:
    """Return nDCG@10 of every query; each corpus, and each list of queries, is encoded once.

    Args:
        encoder: Asks the model.
        material: What is asked.
        documents: The corpora of `material.searches`, in their order.

    Raises:
        UserError: An embedding or a similarity is not finite.
    """
    found: Scores = {}
    known: dict[tuple[str, ...], Any] = {}
    for search, corpus in zip(material.searches, documents, strict=True):
        for asked in search.asked:
            if asked.texts not in known:  # OCR-MLDR asks several corpora the same queries
                known[asked.texts] = encoder.queries(asked.texts)
                refuse_nan(known[asked.texts], asked.ids, "queries")
        columns = _similarities(encoder, [known[a.texts] for a in search.asked], corpus)
        for asked, scores in zip(search.asked, columns, strict=True):
            refuse_nan(scores, asked.ids, f"queries of {asked.subset} (their similarities)")
            found[asked.subset] = ndcg_at_10(
                scores, asked.ids, corpus.ids, material.qrels[asked.subset]
            )
    return {subset: found[subset] for subset in material.qrels if subset in found}


def _similarities(encoder: Encoder, queries: Sequence[Any], corpus: Documents) -> list[Any]:
    """Return (n_queries, n_documents) for each list of queries; pieces of a corpus are dropped."""
    parts: list[list[torch.Tensor]] = [[] for _ in queries]
    start = 0
    for piece in encoder.documents(corpus):
        refuse_nan(piece, corpus.ids[start : start + len(piece)], "documents")
        start += len(piece)
        for part, embeddings in zip(parts, queries, strict=True):
            part.append(encoder.similarity(embeddings, piece))
    if start != len(corpus):
        raise UserError(f"the model gave {start} embeddings for {len(corpus)} documents")
    return [torch.cat(part, dim=1) for part in parts]
