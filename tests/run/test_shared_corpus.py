"""Each distinct corpus is searched once, and every score is stock mteb's."""

import mteb
import pytest

from mteb_nano.errors import UserError
from tests.run import fakes
from tests.run.tasks import Pages, StockPages, StockTexts, Texts

MODELS = {
    "dense": fakes.Dense,
    "padded": fakes.Padded,
    "ragged": fakes.Ragged,
    "bm25s": lambda: mteb.get_model("mteb/baseline-bm25s"),
}


def evaluate(model, task, **kwargs):
    kwargs = {"cache": None, **kwargs}
    result = mteb.evaluate(model, task, co2_tracker=False, show_progress_bar=False, **kwargs)
    return {s["hf_subset"]: s for s in result.task_results[0].scores["test"]}


def common(scores, names):
    return {s: {k: v for k, v in row.items() if k in names} for s, row in scores.items()}


@pytest.fixture(scope="module")
def dense_texts():
    """Return models and scores of all 60 OCR subsets, as ours and as stock; 0.2 s a subset."""
    models = fakes.Dense(), fakes.Dense()
    return models, [evaluate(m, t()) for m, t in zip(models, (Texts, StockTexts), strict=True)]


def assert_same(mine, theirs):
    names = set(next(iter(mine.values())))
    assert {"ndcg_at_10", "mrr_at_10", "recall_at_100", "nauc_ndcg_at_10_max"} <= names
    assert mine.keys() == theirs.keys()
    assert common(mine, names) == common(theirs, names)


@pytest.mark.parametrize("kind", MODELS)
def test_page_scores_are_stock_mtebs(kind):
    """Sharing the pages' search changes no digit of any score, for every kind of searcher."""
    mine, theirs = MODELS[kind](), MODELS[kind]()
    assert_same(evaluate(mine, Pages()), evaluate(theirs, StockPages()))
    if kind != "bm25s":  # one pass over the 40 pages, where stock makes eight
        assert (mine.document_calls, mine.documents) == (1, 40)
        assert (theirs.document_calls, theirs.documents) == (8, 320)


@pytest.mark.parametrize("kind", ["padded", "ragged", "bm25s"])
def test_ocr_scores_are_stock_mtebs(kind):
    """Sharing the texts' search changes no digit of any score; one language's 12 subsets."""
    tasks = Texts(), StockTexts()
    for task in tasks:
        task.hf_subsets = [s for s in task.hf_subsets if s.startswith("de_")]
    mine, theirs = (evaluate(MODELS[kind](), task) for task in tasks)
    assert len(mine) == 12
    assert_same(mine, theirs)


def test_sixty_ocr_subsets_have_twenty_corpora(dense_texts):
    """Clean texts are equal in 3 settings: 5 clean and 15 noisy corpora; stock encodes 60."""
    (mine, theirs), scores = dense_texts
    assert (mine.document_calls, mine.documents) == (20, 240)
    assert (theirs.document_calls, theirs.documents) == (60, 720)
    assert_same(*scores)


@pytest.mark.parametrize("kind", ["dense", "padded", "ragged", "cross"])
def test_reranking_gives_stock_mtebs_scores(kind, tmp_path):
    """Reranking another model's candidates is shared too, and changes no digit."""
    evaluate(fakes.Dense(), StockPages(), prediction_folder=tmp_path)
    scores = []
    for cls in (Pages, StockPages):
        task = cls().convert_to_reranking(tmp_path, top_k=7)
        model = fakes.Cross() if kind == "cross" else MODELS[kind]()
        scores.append(evaluate(model, task))
    names = set(scores[0]["hr"]) & set(scores[1]["hr"])
    assert common(scores[0], names) == common(scores[1], names)
    assert 0 < scores[0]["hr"]["ndcg_at_10"] < 1


def test_a_corpus_is_not_shared_across_languages():
    """bm25s picks its stemmer by the subset's language, so equal texts in two languages are two."""
    task = Texts()
    task.load_data()
    same = task._subsets["de_dpi120_font10_clean"].corpus_key
    task._subsets = {
        n: s.__class__(**{**vars(s), "corpus_key": same}) for n, s in task._subsets.items()
    }
    groups = {frozenset(task._group_of(name, "test")) for name in task.hf_subsets}
    assert len(groups) == 5


def test_models_one_after_another_do_not_mix():
    """A task that keeps its data gives each model its own rankings."""
    task = Pages()
    task.load_data()
    first, second = evaluate(fakes.Dense(), task), evaluate(fakes.Padded(), task)
    again = evaluate(fakes.Dense(), task)
    assert first == again
    assert first["hr"]["per_query"] != second["hr"]["per_query"]


def test_a_model_trained_further_is_searched_anew():
    """After an interrupted evaluation, no ranking of the old weights is left for the new ones."""
    task, model = Pages(), fakes.Dense()
    task.load_data()
    encode = {"encode_kwargs": {}}
    task.evaluate(model, "test", ["energy"], **encode)  # the other seven wait in memory
    model.similarity = lambda a, b: -fakes.Dense.similarity(model, a, b)  # "trained"
    scores = task.evaluate(model, "test", ["hr"], **encode)["hr"]
    fresh = fakes.Dense()
    fresh.similarity = lambda a, b: -fakes.Dense.similarity(fresh, a, b)
    assert (
        scores["per_query"] == Pages().evaluate(fresh, "test", ["hr"], **encode)["hr"]["per_query"]
    )


def test_nan_similarities_are_refused():
    """pytrec_eval would rank NaN in silence; here no score comes out."""
    model = fakes.Dense()
    model.similarity = lambda a, b: fakes.Dense.similarity(model, a, b) * float("nan")
    with pytest.raises(UserError, match="NaN"):
        evaluate(model, Pages())


def test_a_query_without_ranking_is_refused():
    """pytrec_eval would drop the query, and the mean would be of the others."""

    class Forgetful(fakes.Dense):
        def index(self, corpus, **kwargs):
            self.ids = list(corpus["id"])

        def search(self, queries, **kwargs):
            return {q: dict.fromkeys(self.ids[:3], 1.0) for q in list(queries["id"])[1:]}

    with pytest.raises(UserError, match="ranked no documents for 1 queries"):
        evaluate(Forgetful(), Pages())


def test_resume_encodes_only_what_is_missing(tmp_path, dense_texts):
    """A crash in the middle keeps the finished subsets; the next run does the rest, same scores."""
    cache = mteb.ResultCache(tmp_path)
    with pytest.raises(RuntimeError, match="simulated"):
        evaluate(fakes.Dense(fail_at=12), Texts(), cache=cache)
    done = mteb.TaskResult.from_disk(next(tmp_path.rglob("OCRMLDR.json")))
    n_done = len(done.scores["test"])
    assert 0 < n_done < 60
    model = fakes.Dense()
    resumed = evaluate(model, Texts(), cache=cache)
    assert model.document_calls < 20
    fresh = dense_texts[1][0]
    assert {s: r["main_score"] for s, r in resumed.items()} == pytest.approx(
        {s: r["main_score"] for s, r in fresh.items()}, abs=1e-6
    )
