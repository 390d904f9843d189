import functools
import hashlib
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from builders.ocr_mldr import models
from builders.ocr_mldr.recipes import FAITHFUL, FAST
from mteb_nano.errors import UserError

CONTENT = b"a language file"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty user's cache and no language files in the system."""
    monkeypatch.setenv("MTEB_NANO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(models, "SYSTEM_FOLDERS", ())
    monkeypatch.delenv("TESSDATA_PREFIX", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def mirror(tmp_path):
    """A web server with one language file; gives its address and the list of requests."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    (folder / "deu.traineddata").write_bytes(CONTENT)
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format, *args):  # noqa: A002, the base class's name
            asked.append(self.path)

    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def expect(monkeypatch, content: bytes) -> None:
    checksum = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(models, "CHECKSUMS", {"main": {"deu": checksum}, "fast": {"deu": checksum}})


def test_a_missing_file_is_fetched_once(cache, mirror, monkeypatch):
    """The first build downloads it, the second finds it in the cache."""
    address, asked = mirror
    expect(monkeypatch, CONTENT)
    for _ in range(2):
        found = models.find_models(["de"], FAITHFUL, official={"main": address, "fast": address})
        assert found["de"].path.read_bytes() == CONTENT
        assert found["de"].is_the_recipes
    assert len(asked) == 1


def test_another_file_than_expected_is_refused(cache, mirror, monkeypatch):
    """What the server gives must have the recipe's checksum, and is not kept."""
    address, _ = mirror
    expect(monkeypatch, b"what the recipe was calibrated with")
    with pytest.raises(UserError, match="another file than the one with sha256"):
        models.find_models(["de"], FAITHFUL, official={"main": address, "fast": address})
    assert not list(cache.rglob("*.traineddata"))


def test_missing_files_name_the_debian_package_all_at_once(cache, monkeypatch):
    """Without network the message gives, for each language, the commands that help."""
    nowhere = "http://127.0.0.1:9"  # the discard port: nothing listens
    with pytest.raises(UserError) as error:
        models.find_models(["de", "ru"], FAST, official={"main": nowhere, "fast": nowhere})
    message = str(error.value)
    assert "apt install tesseract-ocr-deu" in message
    assert "apt install tesseract-ocr-rus" in message
    assert "--tessdata" in message


def test_a_given_folder_wins_whatever_it_holds_and_the_manifest_tells(cache, tmp_path):
    """A file of the user's own is used, and marked as not the recipe's."""
    (tmp_path / "deu.traineddata").write_bytes(CONTENT)
    model = models.find_models(["de"], FAITHFUL, folder=tmp_path)["de"]
    assert model.path == tmp_path / "deu.traineddata"
    told = model.as_dict()
    assert told["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    assert told["is_the_recipes"] is False
    assert told["recipe_sha256"] == models.CHECKSUMS["main"]["deu"]


def test_the_recipes_own_file_is_preferred_to_another_of_that_name(tmp_path, monkeypatch):
    """A folder with some other English does not change English where the right one is there."""
    wrong, right = tmp_path / "wrong", tmp_path / "right"
    for folder, content in ((wrong, b"other"), (right, CONTENT)):
        folder.mkdir()
        (folder / "deu.traineddata").write_bytes(content)
    expect(monkeypatch, CONTENT)
    monkeypatch.setattr(models, "SYSTEM_FOLDERS", (right,))
    assert models.find_models(["de"], FAST, folder=wrong)["de"].path.parent == right


def test_an_unknown_language_lists_the_known_ones():
    """No language falls back to another."""
    with pytest.raises(UserError, match=r"language 'xx': expected one of .*\bde\b"):
        models.find_models(["xx"], FAST)


def test_checksums_are_sha256_of_all_five_languages():
    """Both model sets name the five languages of OCR-MLDR."""
    for sums in models.CHECKSUMS.values():
        assert sorted(sums) == ["deu", "eng", "fra", "rus", "spa"]
        assert all(len(s) == 64 and int(s, 16) for s in sums.values())


def test_debians_files_are_the_fast_recipes():
    """The checksums of `fast` are those of the installed packages."""
    found = models.find_models(["de", "en", "es", "fr", "ru"], FAST)
    assert all(model.is_the_recipes for model in found.values())
    assert all(isinstance(model.path, Path) for model in found.values())
