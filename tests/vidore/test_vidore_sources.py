"""Sources are checked at the border: every fault of a table at once."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.vidore.origins import parse_origins, read_sources
from builders.vidore.sources import read_source
from mteb_nano.errors import UserError
from tests.vidore.universe import make_rows, shuffled, write_source


def read(tmp_path, rows, **kwargs):
    return read_source("made", write_source(tmp_path / "made", rows, **kwargs), origin="made")


def test_row_order_and_row_groups_do_not_show(tmp_path):
    """A source is its content: the same rows shuffled, in other row groups, read the same."""
    rows = make_rows(1)
    one = read(tmp_path / "1", rows)
    other = read(tmp_path / "2", shuffled(rows, 5), row_group_size=3)
    assert one.fingerprint == other.fingerprint
    assert list(one.page_ids) == list(other.page_ids) == [str(i) for i in range(30)]
    assert one.markdown.to_pylist() == other.markdown.to_pylist()
    assert list(one.image_hashes) == list(other.image_hashes)
    wanted = {"3", "17", "29"}
    expected = {str(r["corpus_id"]): r["image"]["bytes"] for r in rows["corpus"]}
    for source in (one, other):
        assert dict(source.images(wanted)) == {i: expected[i] for i in wanted}


def test_any_change_shows_in_the_fingerprint(tmp_path):
    """Text, image, grade or query: the fingerprint of a changed source differs."""
    prints = {read(tmp_path / "0", make_rows(1)).fingerprint}
    for n, change in enumerate(
        (
            lambda rows: rows["corpus"][3].update(markdown="x"),
            lambda rows: rows["corpus"][3]["image"].update(bytes=b"x"),
            lambda rows: rows["qrels"][0].update(score=3),
            lambda rows: rows["queries"][0].update(query="x"),
        )
    ):
        rows = make_rows(1)
        change(rows)
        prints.add(read(tmp_path / str(n + 1), rows).fingerprint)
    assert len(prints) == 5


def test_all_faults_of_the_qrels_at_once(tmp_path):
    """Unknown pages and queries, queries without positives: all in one message."""
    rows = make_rows(1)
    rows["qrels"] = [r for r in rows["qrels"] if r["query_id"] != 4]
    rows["qrels"] += [
        {"query_id": 999, "corpus_id": 0, "score": 1},
        {"query_id": 5, "corpus_id": 777, "score": 1},
    ]
    with pytest.raises(UserError) as error:
        read(tmp_path, rows)
    for part in ("made", "4 has no positive page", "unknown query 999", "unknown page 777"):
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows["corpus"].append(rows["corpus"][0]), "corpus_id 0 comes more than once"),
        (
            lambda rows: rows["queries"].append(rows["queries"][7]),
            "query_id 7 comes more than once",
        ),
        (lambda rows: rows["qrels"].append(rows["qrels"][0]), "comes more than once"),
        (lambda rows: rows["qrels"][0].update(score=0), "has the grade 0"),
        (lambda rows: rows["queries"][3].update(query=" "), "3 has no query"),
        (lambda rows: rows["queries"][3].update(language=None), "3 has no language"),
        (lambda rows: rows["corpus"][2].update(image=None), "page 2 has no image bytes"),
        (lambda rows: [r.pop("markdown") for r in rows["corpus"]], "missing markdown; found"),
        (lambda rows: rows.pop("qrels"), "no parquet file in"),
        (lambda rows: rows["corpus"].clear(), "missing corpus_id, image, markdown"),
    ],
)
def test_one_clear_error(tmp_path, change, message):
    """Each bad input is named, with the source and the row or column."""
    rows = make_rows(1)
    change(rows)
    with pytest.raises(UserError, match=message) as error:
        read(tmp_path, rows)
    assert "made" in str(error.value)


def test_file_that_is_no_parquet(tmp_path):
    """A damaged file is named."""
    folder = write_source(tmp_path / "made", make_rows(1))
    (folder / "qrels" / "test-00000-of-00001.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(UserError, match=r"qrels/test-00000-of-00001.parquet: cannot be read"):
        read_source("made", folder, origin="made")


def test_markdown_may_be_missing_in_a_row(tmp_path):
    """Some pages have no text: they are kept, with empty text."""
    rows = make_rows(1)
    rows["corpus"][0]["markdown"] = None
    assert read(tmp_path, rows).markdown.to_pylist()[0] == ""


def test_licences_come_from_the_documents(tmp_path):
    """documents_metadata gives each page its document's licence."""
    folder = write_source(tmp_path / "made", make_rows(1))
    (folder / "documents_metadata").mkdir()
    table = pa.table({"doc_id": ["doc0", "doc1", "doc2"], "license": ["MIT", None, "GPL-2"]})
    pq.write_table(table, folder / "documents_metadata" / "test.parquet")
    source = read_source("made", folder, origin="made")
    assert [d["license"] for d in source.details[8:12]] == ["MIT", "MIT", "", ""]
    assert source.details[29]["license"] == "GPL-2"


def test_names_of_sources(tmp_path):
    """The last part of a place is its name, without ViDoRe's prefix; NAME=PLACE overrides."""
    (tmp_path / "reports").mkdir()
    found = parse_origins(["vidore/vidore_v3_hr", str(tmp_path / "reports"), "x=a/b@main"])
    assert found == {
        "hr": "vidore/vidore_v3_hr",
        "reports": str(tmp_path / "reports"),
        "x": "a/b@main",
    }
    assert len(parse_origins([])) == 8
    with pytest.raises(UserError, match="hr is named twice"):
        parse_origins(["vidore/vidore_v3_hr", "other/hr"])


def test_hub_snapshot_is_read_at_its_commit(tmp_path, monkeypatch):
    """A Hub id gives the snapshot in the cache, and the source records its commit."""
    import huggingface_hub

    commit = "c" * 40
    cached = tmp_path / "datasets--vidore--vidore_v3_hr"
    write_source(cached / "snapshots" / commit, make_rows(1))
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    download = huggingface_hub.snapshot_download
    monkeypatch.setattr(
        huggingface_hub,
        "snapshot_download",
        lambda *args, **more: download(*args, **more, cache_dir=tmp_path, local_files_only=True),
    )
    (source,) = read_sources(parse_origins(["vidore/vidore_v3_hr"])).values()
    assert (source.name, source.origin, source.revision) == ("hr", "vidore/vidore_v3_hr", commit)
    with pytest.raises(UserError, match="vidore/vidore_v3_it: cannot be fetched from the Hub"):
        read_sources(parse_origins(["vidore/vidore_v3_it"]))


def test_place_that_is_nothing(tmp_path):
    """A mistyped folder is not taken for a Hub id."""
    with pytest.raises(UserError, match="neither a folder"):
        read_sources(parse_origins([str(tmp_path / "no" / "such" / "folder")]))
