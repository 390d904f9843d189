"""What mteb itself makes of a model and a dataset folder."""

import mteb


def per_query(task, model, *, batch_size: int) -> dict[str, dict[str, float]]:
    """Return nDCG@10 by subset and query before any rounding."""
    found: dict[str, dict[str, float]] = {}
    original = task.task_specific_scores

    def spy(scores, qrels, results, hf_split, hf_subset):
        found[hf_subset] = {query: row["ndcg_cut_10"] for query, row in scores.items()}
        return original(scores, qrels, results, hf_split, hf_subset)

    task.task_specific_scores = spy
    mteb.evaluate(
        model,
        task,
        cache=None,
        encode_kwargs={"batch_size": batch_size},
        show_progress_bar=False,
        co2_tracker=False,
    )
    return found
