"""The manifest: what it must hold, and that the files are the ones it names."""

import json

import pytest

from mteb_nano import manifest
from mteb_nano.errors import UserError

FIELDS = {"name": "Mine", "kind": "page-retrieval", "version": "1", "sources": [{"name": "a"}]}
OCR = {"name": "Mine", "kind": "ocr-retrieval", "languages": ["de"], "settings": ["dpi120_font10"]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "expected JSON"),
        (b"\xff\xfe", "expected JSON"),
        (b"[1]", "expected a JSON object, found list"),
        (b"[" * 100_000, "nested too deeply"),
        (b"{}", "`name` must be"),
    ],
)
def test_a_file_that_is_no_manifest_is_one_line(tmp_path, content, words):
    """Not JSON, not text, not an object, a nesting bomb, no fields: each is a line."""
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(UserError, match=words) as caught:
        manifest.read_manifest(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_without_manifest_is_told_what_writes_one(tmp_path):
    """A folder, a file and nothing at all in the place of a dataset are the same fault."""
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file", tmp_path / "nowhere"):
        with pytest.raises(UserError, match=r"builders\.vidore.* builders\.ocr_mldr"):
            manifest.read_manifest(place)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "a/b"}, "`name`"),
        ({"name": 3}, "`name`"),
        ({"kind": "pages"}, "`kind`"),
        ({"kind": ["page-retrieval"]}, "`kind`"),
        ({"sources": []}, "`sources`"),
        ({"sources": {"name": "a"}}, "`sources`"),
        ({"sources": ["a"]}, "`sources`"),
        ({"sources": [{"name": "a"}, {"name": "a"}]}, "`sources`"),
        ({"grades": ["1"]}, "`grades`"),
        ({"grades": [True]}, "`grades`"),
        ({"grades": [0]}, "`grades`"),
        ({"grades": 1}, "`grades`"),
        ({"query_languages": [["english"]]}, "`query_languages`"),
        ({"counts": [1]}, "`counts`"),
        (OCR | {"languages": ["zh_CN"]}, "`languages`"),
        (OCR | {"languages": ["*"]}, "`languages`"),
        (OCR | {"settings": ["../../etc"]}, "`settings`"),
        (OCR | {"settings": ["a", "a"]}, "`settings`"),
        (OCR | {"settings": None}, "`settings`"),
    ],
)
def test_a_wrong_field_is_named(fields, words):
    """Each field that loading relies on is checked, down to its entries."""
    assert manifest.field_faults(FIELDS) == manifest.field_faults(OCR) == []
    assert any(words in line for line in manifest.field_faults(FIELDS | fields))


def test_all_wrong_fields_are_told_at_once(tmp_path):
    """One line names all of them."""
    (tmp_path / "manifest.json").write_text(json.dumps({"kind": 1, "grades": "x", "counts": 2}))
    with pytest.raises(UserError) as caught:
        manifest.read_manifest(tmp_path)
    assert all(f"`{key}`" in str(caught.value) for key in ("name", "kind", "grades", "counts"))


def test_a_sound_folder_verifies_and_bears_the_hash_of_its_manifest(texts):
    """The revision is 12 digits of sha256sum's output for manifest.json."""
    import subprocess

    assert manifest.verify_files(texts) == []
    told = subprocess.run(
        ["sha256sum", texts / "manifest.json"], capture_output=True, text=True, check=True
    )
    assert manifest.revision_of(texts) == f"local-{told.stdout[:12]}"


def test_every_file_that_is_not_the_manifests_is_told(texts):
    """Changed, shortened, lost, added: four files, four lines."""
    folders = [texts / f"data/de_dpi120_font10_{part}" for part in ("corpus", "queries", "qrels")]
    changed, short, lost = (folder / "test-00000-of-00001.parquet" for folder in folders)
    content = bytearray(changed.read_bytes())
    content[50] ^= 1
    changed.write_bytes(content)
    short.write_bytes(short.read_bytes()[:-5])
    lost.unlink()
    (texts / "data/added.parquet").write_bytes(b"")
    lines = dict(line.split(": ", 1) for line in manifest.verify_files(texts))
    assert len(lines) == 4
    assert "sha256" in lines[changed.relative_to(texts).as_posix()]
    assert "bytes, the manifest says" in lines[short.relative_to(texts).as_posix()]
    assert "does not exist" in lines[lost.relative_to(texts).as_posix()]
    assert lines["data/added.parquet"] == "not in the manifest"


def test_results_that_lie_in_the_folder_are_no_fault(texts):
    """`mteb run --output-folder .` inside of a dataset does not spoil it."""
    (texts / "results").mkdir()
    (texts / "results/Mine.json").write_text("{}")
    (texts / "results/run_settings.jsonl").write_text("{}")
    assert manifest.verify_files(texts) == []


@pytest.mark.parametrize(
    ("name", "entry", "words"),
    [
        ("../secret", {"sha256": "", "bytes": 0}, "outside"),
        ("/etc/passwd", {"sha256": "", "bytes": 0}, "outside"),
        ("README.md", "abc", "must give its `sha256` and `bytes`"),
        ("README.md", {"bytes": 1}, "must give its `sha256` and `bytes`"),
        ("x" * 5000, {"sha256": "", "bytes": 0}, "cannot be read"),
        ("loop", {"sha256": "", "bytes": 0}, "does not exist"),
    ],
)
def test_strange_entries_of_files_are_lines(tmp_path, name, entry, words):
    """Paths out of the folder are never opened; entries of other shapes are told."""
    (tmp_path / "README.md").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    faults = manifest.verify_files(tmp_path, manifest={"files": {name: entry}})
    assert len(faults) == 1
    assert words in faults[0]


def test_without_files_the_manifest_verifies_nothing_and_says_so(tmp_path):
    """`files` is what makes the revision stand for the content."""
    for files in (None, [], "x"):
        lines = manifest.verify_files(tmp_path, manifest={"a": 1, "files": files})
        assert len(lines) == 1
        assert "`files` (path -> sha256, bytes) is missing" in lines[0]


def test_a_revision_without_manifest_changes_with_content_and_names(texts):
    """Any changed byte or moved file is another revision; the card alone is not."""
    (texts / "manifest.json").unlink()
    seen = {manifest.revision_of(texts)}
    (texts / "README.md").write_text("other")
    assert manifest.revision_of(texts) in seen
    path = manifest.data_files(texts)[0]
    path.write_bytes(path.read_bytes() + b"x")
    seen.add(manifest.revision_of(texts))
    path.rename(path.with_name("other.parquet"))
    seen.add(manifest.revision_of(texts))
    (texts / "more.jsonl").write_text("{}")
    seen.add(manifest.revision_of(texts))
    assert len(seen) == 4
