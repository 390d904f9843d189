"""What was once got wrong by unusual but fair use; each test is one such use."""

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import mteb
import numpy as np
import pytest
from mteb.timing import TimingStack

from mteb_nano import modality
from mteb_nano.commands import run
from mteb_nano.errors import UserError
from mteb_nano.folder_tasks import tasks_of
from mteb_nano.models.tesseract_bm25s import TesseractBM25
from tests import generate
from tests.run import fakes
from tests.run.tasks import Pages
from tests.run.test_mteb_cli import by_subset, command, result
from tests.run.test_shared_corpus import evaluate

BM25S = ("-m", "mteb/baseline-bm25s")


def scans(folder, name, settings=("dpi200_font11",)):
    return generate.texts(folder, name=name, languages=["fr"], settings=settings)


def test_a_rebuilt_dataset_is_read_where_it_is_given(tmp_path):
    """`--data` with a folder named as a published task reads the folder, not the published data."""
    generate.pages(tmp_path / "built", name="NanoViDoReV3", n_queries_per_source=1)
    # The published counts are not met, and said so of the folder; the Hub is never asked.
    done = command("mteb-nano", "run", "--data", tmp_path / "built", *BM25S, check=False)
    assert done.returncode == 2
    assert f"{tmp_path / 'built'}: " in done.stderr
    assert "published" in done.stderr
    assert "HF_HUB_OFFLINE" not in done.stderr


def test_a_folder_named_as_a_task_of_mteb_is_refused(tmp_path):
    """Without this, `--data` would run mteb's own task of that name over other data."""
    folder = scans(tmp_path / "mine", "ArguAna")
    done = command("mteb-nano", "run", "--data", folder, *BM25S, check=False)
    assert done.returncode == 2
    assert "another task is named ArguAna; change `name`" in done.stderr.splitlines()[-1]


def test_a_path_with_the_separator_of_paths_is_refused(tmp_path):
    """`--data a:b` would be taken for two folders."""
    folder = scans(tmp_path / "a:b", "Colon")
    with pytest.raises(UserError, match="must not hold `:`"):
        run._put_in_place([str(folder)], [])


def test_data_adds_to_the_environments_folders(tmp_path, monkeypatch):
    """A folder by option does not take away those in the variable."""
    one, two = scans(tmp_path / "one", "One"), scans(tmp_path / "two", "Two")
    monkeypatch.setenv("MTEB_NANO_DATA", str(one))
    run._put_in_place([str(two)], [])
    assert run.os.environ["MTEB_NANO_DATA"] == f"{two}:{one}"


def test_subset_options_hold_for_each_of_several_tasks(tmp_path):
    """`--langs fr` keeps the first task's settings although the last one has fewer."""
    one = scans(tmp_path / "one", "One", ("dpi120_font10", "dpi130_font10"))
    two = scans(tmp_path / "two", "Two", ("dpi120_font10",))
    options = ("--langs", "fr", "--mode", "clean", "--output-folder", tmp_path / "out")
    # Ours and mteb's options are mixed, and --data comes twice, apart.
    command("mteb-nano", "run", *options, "--data", one, *BM25S, "--data", two)
    found = {name: set(by_subset(result(tmp_path / "out", name))) for name in ("One", "Two")}
    assert found == {
        "One": {"fr_dpi120_font10_clean", "fr_dpi130_font10_clean"},
        "Two": {"fr_dpi120_font10_clean"},
    }


def test_a_model_that_is_not_registered_is_left_to_mteb():
    """A checkpoint in a folder has no entry in mteb's registry, and runs all the same."""
    assert run._modalities_of("./checkpoint-100") is None
    assert run._modalities_of("mteb/baseline-bm25s") == ["text"]


def test_languages_without_a_match_are_one_message():
    """mteb would end in an UnboundLocalError."""
    argv = ("mteb-nano", "run", "-t", "OCRMLDRSample", "-l", "jpn", *BM25S)
    done = command(*argv, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "-l jpn: no task has such a language"


def test_hints_name_what_the_model_reads():
    """Only a model of text is sent to the markdown task; other lines of mteb's message stay."""
    line = (
        "Model a/b supports {}, but none overlap with task {} query=['text'], document=['image']."
    )
    audio = modality.hint_for(line.format("['audio']", "NanoViDoReV3"))
    assert audio == "a/b reads audio and the queries of NanoViDoReV3 are text"
    foreign = line.format("['text']", "CIFAR10ZeroShot")
    ours = line.format("['text']", "NanoViDoReV3")
    both = modality.hint_for(f"{foreign}\n{ours}")
    assert both.splitlines()[0] == foreign
    assert "use -t NanoViDoReV3Markdown" in both.splitlines()[1]
    assert modality.hint_for(foreign) is None


def test_nan_from_a_reranker_is_refused(tmp_path):
    """pytrec_eval would rank NaN in silence, and rerankers do not pass the shared search."""
    evaluate(fakes.Dense(), Pages(), prediction_folder=tmp_path)
    task, model = Pages().convert_to_reranking(tmp_path, top_k=7), fakes.Cross()
    model.predict = lambda **kwargs: np.nan * fakes.Cross.predict(model, **kwargs)
    with pytest.raises(UserError, match="NaN"):
        evaluate(model, task)


def test_a_task_can_be_copied_in_the_midst_of_a_run():
    """A copy has the data, and none of the rankings, which are of one model and one run."""
    task, model, timer = Pages(), fakes.Dense(), TimingStack()
    first = task.evaluate(model, "test", ["hr"], encode_kwargs={}, timer=timer)
    for twin in (copy.deepcopy(task), pickle.loads(pickle.dumps(task))):  # noqa: S301
        assert twin._shared is None
        again = twin.evaluate(fakes.Dense(), "test", ["hr"], encode_kwargs={})
        assert again["hr"]["per_query"] == first["hr"]["per_query"]


def test_tasks_over_folders_can_be_pickled():
    """Their classes are made from a manifest, and are found where the registry puts them."""
    for name in ("OCRMLDRSample", "NanoViDoReV3SampleMarkdown"):
        twin = pickle.loads(pickle.dumps(mteb.get_task(name)))  # noqa: S301
        assert twin.metadata.revision == mteb.get_task(name).metadata.revision


def test_a_model_with_slots_can_be_evaluated():
    """Such a model cannot be referred to weakly."""

    class Slots:
        __slots__ = ("encode", "mteb_model_meta", "similarity", "similarity_pairwise")

        def __init__(self, model):
            for name in self.__slots__:
                setattr(self, name, getattr(model, name))

    assert evaluate(Slots(fakes.Dense()), Pages()) == evaluate(fakes.Dense(), Pages())


def test_predictions_of_another_model_are_replaced(tmp_path, caplog):
    """mteb would keep the first model's name over the second one's rankings."""
    evaluate(fakes.Dense(), Pages(), prediction_folder=tmp_path)
    task = Pages()
    task.hf_subsets = ["hr", "energy"]
    evaluate(fakes.Padded(), task, prediction_folder=tmp_path)
    saved = json.loads((tmp_path / "NanoViDoReV3Markdown_predictions.json").read_text())
    assert saved["mteb_model_meta"] == {"model_name": "fake/padded", "revision": "1"}
    assert saved.keys() == {"mteb_model_meta", "hr", "energy"}
    assert caplog.text.count("holds another model's predictions") == 1


@pytest.mark.parametrize("names", [["hr", "vidore_v3_hr"], ["a\x1fb", "c"]])
def test_sources_that_cannot_be_told_apart_are_refused(tmp_path, names):
    """Two spellings of one source would each be given the queries of both."""
    folder = generate.pages(tmp_path / "pages", sources=["a", "b"])
    path = folder / "manifest.json"
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({**fields, "sources": [{"name": name} for name in names]}))
    with pytest.raises(UserError, match="`sources` must be"):
        tasks_of(folder)


def test_a_task_takes_no_attribute_of_mtebs(tmp_path):
    """A folder named as a submodule or a class of mteb's tasks hides neither."""
    folders = [scans(tmp_path / n, n) for n in ("retrieval", "CQADupstackRetrievalFa")]
    code = (
        "import mteb, mteb.tasks, types;"
        "print(isinstance(mteb.tasks.retrieval, types.ModuleType),"
        " mteb.tasks.CQADupstackRetrievalFa.metadata.name,"
        " mteb.get_task('retrieval').row.name)"
    )
    env = {"MTEB_NANO_DATA": ":".join(map(str, folders)), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**run.os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "CQADupstackRetrieval-Fa", "retrieval"]


@pytest.fixture
def page_images(tmp_path):
    """Return a small corpus of page images."""
    task = tasks_of(generate.pages(tmp_path / "pages", sources=["a"], n_pages_per_source=2))[0]()
    task.load_data()
    return task.dataset["a"]["test"]["corpus"]


def test_a_damaged_file_of_what_tesseract_read_is_read_again(tmp_path, page_images):
    """A full disk or a power cut leaves an empty file behind."""
    model = TesseractBM25(cache=tmp_path / "cache", workers=1)
    read = model.read(page_images)
    files = sorted(Path(tmp_path / "cache").rglob("*.json"))
    files[0].write_text("")
    files[1].write_text('{"text": null}')
    assert model.read(page_images) == read
    assert all(json.loads(file.read_text())["text"] in read for file in files)


def test_a_cache_that_cannot_be_written_is_one_message(tmp_path, page_images):
    """Said before a page is read, with the variable that mends it."""
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UserError, match="MTEB_NANO_CACHE"):
        TesseractBM25(cache=tmp_path / "file", workers=1).read(page_images)
