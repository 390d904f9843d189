import subprocess
import sys
from dataclasses import replace

import pytest

from builders.ocr_mldr.error_rate import character_error_rate
from builders.ocr_mldr.models import Model, find_models
from builders.ocr_mldr.noise import noise_texts
from builders.ocr_mldr.recipes import FAST
from builders.ocr_mldr.recognize import (
    OcrEngine,
    TesseractEngine,
    load_engine_class,
    open_tesseract,
)
from builders.ocr_mldr.render import renderer
from builders.ocr_mldr.sentences import split_sentences
from builders.ocr_mldr.shards import EngineSpec
from mteb_nano.errors import UserError
from mteb_nano.manifest import sha256_of
from tests.ocr_mldr.ocr_cases import GERMAN, environment


@pytest.fixture(scope="module")
def engine() -> TesseractEngine:
    return open_tesseract(("de", "ru"), FAST)


def images(setting: str = "120/10"):
    draw = renderer(FAST, FAST.setting(setting))
    return [draw(s) for text in GERMAN for s in split_sentences(text, "de", max_chars=2000)]


def test_tesseract_is_an_engine(engine):
    """It has the two methods that any engine has."""
    assert isinstance(engine, OcrEngine)


def test_a_text_does_not_depend_on_the_images_before_it(engine):
    """Any order, and languages in between, give the same texts."""
    pages = images()
    forward = [engine.read(page, "de") for page in pages]
    engine.read(pages[0], "ru")
    backward = [engine.read(page, "de") for page in reversed(pages)]
    assert forward == backward[::-1]
    assert any(forward)


def test_a_clean_page_is_read_nearly_without_fault(engine):
    """At 300 dpi real Tesseract reads real German with few errors: the path is whole."""
    text = GERMAN[1]
    noisy = noise_texts([text], "de", "300/12", FAST, engine=engine)[0]
    assert character_error_rate(text, noisy) < 0.05


def test_an_empty_page_is_read_as_nothing(engine):
    """No ink, no text, no error."""
    assert engine.read(renderer(FAST, FAST.setting("120/10"))(""), "de") == ""


def test_a_language_that_was_not_opened_is_refused(engine):
    """An engine never reads with another language's model."""
    with pytest.raises(UserError, match="'fr': the engine was opened for de, ru"):
        engine.read(images()[0], "fr")


def test_a_damaged_language_file_is_named(tmp_path):
    """Tesseract's own error has no name in it."""
    (tmp_path / "deu.traineddata").write_bytes(b"not a model")
    path = tmp_path / "deu.traineddata"
    model = Model("deu", path, "fast", sha256_of(path), None)
    broken = TesseractEngine({"de": model}, FAST)
    with pytest.raises(UserError, match=r"deu\.traineddata: Tesseract cannot read it"):
        broken.read(images()[0], "de")


def test_another_file_than_the_build_began_with_is_refused(tmp_path):
    """On a node of a cluster the same path may hold another file: other text, under one name."""
    (tmp_path / "deu.traineddata").write_bytes(b"another model")
    model = Model("deu", tmp_path / "deu.traineddata", "fast", "0" * 64, None)
    with pytest.raises(UserError, match="is not, on this machine, the file"):
        TesseractEngine({"de": model}, FAST).read(images()[0], "de")


def test_a_worker_with_other_versions_is_refused():
    """Shards are named by versions, so that each must have been made by them."""
    models = tuple(find_models(["de"], FAST).items())
    spec = EngineSpec(FAST, models, versions=(("tesseract", "4.1.1"),))
    with pytest.raises(UserError, match=r"other versions than the build: tesseract 5.*not 4\.1\.1"):
        spec.open()


def test_a_missing_tesseract_says_what_to_install(tmp_path):
    """Without tesserocr there is one line, and no traceback."""
    code = (
        "import sys; sys.modules['tesserocr'] = None\n"
        "from builders.ocr_mldr.__main__ import main\n"
        "sys.exit(main(['--source', '/', '--out', 'out', '--langs', 'de', '--recipe', 'fast']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "pip install 'mteb-nano[builders]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_it_says_of_itself_is_what_texts_depend_on(engine):
    """Library versions and the checksums of both files, in no place-dependent form."""
    told = engine.describe()
    assert told["tesseract"].startswith("5.")
    models = find_models(["de", "ru"], FAST)
    assert told["models"]["rus"]["sha256"] == models["ru"].sha256
    assert "/" not in str(told)


@pytest.mark.parametrize("name", ["nothing", "no_such_module:x", "builders.export:nothing", ":"])
def test_an_unknown_engine_is_refused(name):
    """The message shows the form."""
    with pytest.raises(UserError, match=r"package\.module:name"):
        load_engine_class(name)


def test_page_segmentation_is_the_recipes(engine):
    """One line a page (7) reads several touching lines otherwise than one block (6) does."""
    other = open_tesseract(("de",), replace(FAST, psm=7))
    page = images()[0]
    assert other.read(page, "de") != engine.read(page, "de")
