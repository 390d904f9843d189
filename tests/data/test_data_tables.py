"""Files are found where the Hub finds them, read in the spellings in use, refused in one line."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mteb_nano import tables
from mteb_nano.errors import UserError
from tests import generate


def put(folder, name, rows=({"query_id": "q", "corpus_id": "d", "score": 1},)):
    """Write rows to a parquet file and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "qrels/test-00000-of-00001.parquet",
        "qrels/test/0000.parquet",
        "data/qrels/test-00000-of-00001.parquet",
        "data/qrels-00000-of-00001.parquet",
    ],
)
def test_files_are_found_in_the_layouts_of_the_hub(tmp_path, name):
    """Without `configs:`, a config is a folder, a folder below data/, or a prefix in data/."""
    path = put(tmp_path, name)
    put(tmp_path, "qrels/train-00000-of-00001.parquet")
    assert tables.find_files(tmp_path, "qrels") == [path]


@pytest.mark.parametrize(
    "files",
    [
        "{split: test, path: odd/place.parquet}",
        "[{split: train, path: qrels/*}, {split: test, path: [odd/*.parquet]}]",
        "odd/place.parquet",
        "odd/**",
    ],
)
def test_the_cards_configs_decide_where_files_are(tmp_path, files):
    """`data_files` in the spellings that the Hub allows win over the usual folders."""
    path = put(tmp_path, "odd/place.parquet")
    put(tmp_path, "qrels/test.parquet")
    card = f"---\nconfigs:\n- config_name: qrels\n  data_files: {files}\n---\n# Card\n"
    (tmp_path / "README.md").write_text(card)
    assert tables.find_files(tmp_path, "qrels") == [path]


def test_a_cards_data_dir_is_a_place_of_files(tmp_path):
    """`data_dir` without `data_files` names the folder."""
    path = put(tmp_path, "odd/place.parquet")
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n- config_name: qrels\n  data_dir: odd/\n---\n"
    )
    assert tables.find_files(tmp_path, "qrels") == [path]


@pytest.mark.parametrize(
    "front",
    [
        "configs:\n- config_name: qrels\n  data_files: /etc/*",
        "configs:\n- config_name: qrels\n  data_files: ../../*",
        "configs: [:",
        "configs:\n- config_name: qrels\n  data_files: '**x'",
    ],
)
def test_a_card_that_cannot_be_followed_is_one_line(tmp_path, front):
    """Broken YAML, and patterns that lead out of the folder, are refused by name."""
    (tmp_path / "README.md").write_text(f"---\n{front}\n---\n")
    with pytest.raises(UserError) as caught:
        tables.find_files(tmp_path, "qrels")
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("front", ["configs: 3", "configs: [3]", "configs:\n- {data_files: 4}", ""])
def test_a_card_that_says_nothing_of_files_leaves_the_usual_places(tmp_path, front):
    """Front matter of other shapes is passed over."""
    path = put(tmp_path, "qrels/test.parquet")
    (tmp_path / "README.md").write_text(f"---\n{front}\n---\n")
    assert tables.find_files(tmp_path, "qrels") == [path]


def test_a_card_that_is_not_utf8_is_one_line(tmp_path):
    """Bytes that are no text are told with the file's name."""
    (tmp_path / "README.md").write_bytes(b"---\n\xff\xfe\n---\n")
    with pytest.raises(UserError, match=r"README\.md: its front matter cannot be read"):
        tables.find_files(tmp_path, "qrels")


def test_a_changed_card_is_read_anew(tmp_path):
    """The card is read once for all configs, yet not after it has changed."""
    old, new = put(tmp_path, "old/a.parquet"), put(tmp_path, "newer/a.parquet")
    for place, path in (("old", old), ("newer", new)):
        (tmp_path / "README.md").write_text(
            f"---\nconfigs:\n- config_name: qrels\n  data_files: {place}/*\n---\n"
        )
        assert tables.find_files(tmp_path, "qrels") == [path]


@pytest.mark.parametrize("query", ["query_id", "query-id"])
@pytest.mark.parametrize("document", ["corpus_id", "corpus-id"])
def test_qrels_are_read_in_every_spelling(tmp_path, query, document):
    """Hyphens and underscores are both in use."""
    path = put(tmp_path, "qrels/test.parquet", [{query: "q", document: "d", "score": 1}])
    table = tables.read_table([path], "qrels", needed=["query", "document", "score"])
    assert table.to_pylist() == [{"query": "q", "document": "d", "score": 1}]


@pytest.mark.parametrize("key", ["_id", "id", "query_id", "query-id"])
@pytest.mark.parametrize("text", ["query", "text"])
def test_queries_are_read_in_every_spelling(tmp_path, key, text):
    """The id and text of a query have four and two names; other columns are left unread."""
    path = put(tmp_path, "queries/test.parquet", [{key: 7, text: "why", "answer": "because"}])
    table = tables.read_table([path], "queries", needed=["id", "text"], wanted=["language"])
    assert table.to_pylist() == [{"id": 7, "text": "why"}]


def test_missing_columns_are_all_named_beside_those_that_are_there(tmp_path):
    """The line says which spellings were wanted, and what was found."""
    path = put(tmp_path, "qrels/test.parquet", [{"q": 1, "score": 1}])
    with pytest.raises(UserError) as caught:
        tables.read_table([path], "qrels", needed=["query", "document", "score"])
    assert str(caught.value) == (
        f"{path}: expected the columns `query_id` or `query-id`, `corpus_id` or `corpus-id`; "
        "found q, score"
    )


def test_a_column_that_stands_twice_is_a_fault(tmp_path):
    """Parquet allows it; which of the two is meant nobody knows."""
    column = pa.array(["a"])
    path = tmp_path / "twice.parquet"
    pq.write_table(pa.Table.from_arrays([column, column], names=["_id", "_id"]), path)
    with pytest.raises(UserError, match="_id stand there twice"):
        tables.read_table([path], "queries", needed=["id"])


def test_ids_that_are_numbers_in_one_file_and_text_in_another_become_text(tmp_path):
    """Files of one config may differ in the type of their ids."""
    paths = [
        put(tmp_path, "q/a.parquet", [{"_id": 1}]),
        put(tmp_path, "q/b.parquet", [{"_id": "x"}]),
    ]
    assert tables.read_table(paths, "queries", needed=["id"])["id"].to_pylist() == ["1", "x"]


def test_files_that_differ_in_other_types_are_one_line(tmp_path):
    """A text column that holds numbers in one file cannot be joined."""
    paths = [
        put(tmp_path, "q/a.parquet", [{"_id": "1", "query": "a"}]),
        put(tmp_path, "q/b.parquet", [{"_id": "2", "query": {"a": 1}}]),
    ]
    with pytest.raises(UserError, match="its 2 files differ in their types"):
        tables.read_table(paths, "queries", needed=["id", "text"])


def broken_files(folder):
    """Return what is wrong -> a file that has it."""
    whole = put(folder, "whole.parquet", [{"_id": str(i), "query": "a" * 50} for i in range(999)])
    content = whole.read_bytes()
    invalid = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    pq.write_table(pa.table({"_id": ["1"], "query": invalid}), folder / "not-utf8.parquet")
    (folder / "cut.parquet").write_bytes(content[: len(content) // 2])
    (folder / "empty.parquet").write_bytes(b"")
    (folder / "garbage.parquet").write_bytes(bytes(range(256)) * 9)
    damaged = bytearray(content)
    damaged[10:200] = b"\xff" * 190
    (folder / "damaged.parquet").write_bytes(damaged)
    (folder / "gone.parquet").symlink_to(folder / "nowhere")
    (folder / "loop.parquet").symlink_to(folder / "loop.parquet")
    (folder / "folder.parquet").mkdir()
    (folder / "bad.jsonl").write_text('{"_id": 1\n')
    (folder / "list.jsonl").write_text("[1]\n")
    (folder / "mixed.jsonl").write_text('{"_id": 1, "query": "a"}\n{"_id": "b", "query": "a"}\n')
    whole.unlink()
    return sorted(folder.iterdir())


def test_a_file_that_cannot_be_read_is_one_line_with_its_name(tmp_path):
    """Cut, empty, damaged, foreign, not UTF-8, a broken link, a loop, a folder: all say so."""
    broken = broken_files(tmp_path)
    assert len(broken) == 11
    for path in broken:
        with pytest.raises(UserError) as caught:
            tables.read_table([path], "queries", needed=["id", "text"])
        line = str(caught.value)
        assert line.startswith(f"{path}: cannot be read ("), path
        assert line.endswith("fetch or build it again"), path
        assert "\n" not in line


def test_json_lines_are_read_like_parquet(tmp_path):
    """The same rows come out, also those with a key that the first row lacks."""
    rows = [{"_id": "007", "query": "NA"}, {"_id": "8", "query": "b", "language": "french"}]
    path = tmp_path / "test.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = tables.read_table([path], "queries", needed=["id", "text"], wanted=["language"])
    assert table["text"].to_pylist() == ["NA", "b"]
    assert table["language"].to_pylist() == [None, "french"]


def test_one_format_is_read_where_there_are_two(tmp_path):
    """A jsonl copy beside the parquet file does not double the rows."""
    path = put(tmp_path, "qrels/test.parquet")
    (tmp_path / "qrels/test.jsonl").write_text("{}\n")
    assert tables.find_files(tmp_path, "qrels") == [path]


def test_generated_data_are_the_same_every_time(tmp_path):
    """Tests that compare runs rely on it: equal arguments, equal manifests, and so equal files."""
    one, two = (generate.texts(tmp_path / n, languages=("ru",), seed=3) for n in "ab")
    assert (one / "manifest.json").read_bytes() == (two / "manifest.json").read_bytes()
    other = generate.texts(tmp_path / "c", languages=("ru",), seed=4)
    assert (one / "manifest.json").read_bytes() != (other / "manifest.json").read_bytes()
