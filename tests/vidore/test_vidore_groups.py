"""Which queries are translations: verified from the data."""

import pytest

from builders.vidore.groups import group_translations
from builders.vidore.sources import read_source
from mteb_nano.errors import UserError
from tests.vidore.universe import make_rows, write_source


def groups_of(tmp_path, rows):
    return group_translations(read_source("made", write_source(tmp_path / "s", rows), origin="s"))


def test_blocks_of_ids(tmp_path):
    """With a block of ids a language, group g is {g, g + N, g + 2N, ...}."""
    groups = groups_of(tmp_path, make_rows(1, n_groups=5))
    assert [sorted(map(int, g.query_ids.values())) for g in groups] == [
        [g, g + 5, g + 10, g + 15, g + 20, g + 25] for g in range(5)
    ]
    assert {g.query_ids["english"] for g in groups} == {"0", "1", "2", "3", "4"}


def test_other_numbering_falls_back_on_qrels_format_and_answer(tmp_path):
    """Ids of another kind: groups come from equal qrels, format and answer, and are the same."""
    rows = make_rows(2, n_groups=4)
    for query in rows["queries"]:
        query["answer"] = f"answer {query['query_id'] % 4}"
    new_id = {i: f"q{(i * 7) % 24:02}" for i in range(24)}
    for row in rows["queries"] + rows["qrels"]:
        row["query_id"] = new_id[row["query_id"]]

    groups = groups_of(tmp_path, rows)

    expected = {frozenset(new_id[g + 4 * b] for b in range(6)) for g in range(4)}
    assert {frozenset(g.query_ids.values()) for g in groups} == expected


def test_ids_that_fit_by_chance_are_not_believed(tmp_path):
    """Two English queries swap their ids: remainders still give six languages, but qrels differ."""
    rows = make_rows(3, n_groups=4, formats=("question",))
    swap = {0: 1, 1: 0}
    for row in rows["queries"] + rows["qrels"]:
        row["query_id"] = swap.get(row["query_id"], row["query_id"])

    groups = groups_of(tmp_path, rows)  # all qrels differ, so the second way finds them

    assert {"1", "4", "8", "12", "16", "20"} in [set(g.query_ids.values()) for g in groups]


def test_source_without_groups_is_named_with_the_reason(tmp_path):
    """A query whose translation has other qrels: neither way works, and both reasons are said."""
    rows = make_rows(4, n_groups=4)
    rows["qrels"] = [r for r in rows["qrels"] if r["query_id"] != 0]
    rows["qrels"].append({"query_id": 0, "corpus_id": 29, "score": 1})
    with pytest.raises(UserError) as error:
        groups_of(tmp_path, rows)
    assert "made:" in str(error.value)
    assert "by id modulo 4: queries 0, 4, 8, 12, 16, 20 differ in their qrels" in str(error.value)
    assert "by equal qrels, format and answer" in str(error.value)


def test_missing_translation_is_named(tmp_path):
    """A query that lacks one language makes the number of queries indivisible."""
    rows = make_rows(5, n_groups=4)
    rows["queries"] = [q for q in rows["queries"] if q["query_id"] != 23]
    rows["qrels"] = [r for r in rows["qrels"] if r["query_id"] != 23]
    with pytest.raises(UserError, match="23 queries do not divide by 6 languages"):
        groups_of(tmp_path, rows)


def test_one_language_needs_no_translations(tmp_path):
    """With one language every query is a group of its own, with or without a format."""
    rows = make_rows(6, n_groups=5, languages=("german",))
    for query in rows["queries"]:
        del query["query_format"]
    groups = groups_of(tmp_path, rows)
    assert [(g.key, g.query_format, g.query_ids) for g in groups] == [
        (str(i), "", {"german": str(i)}) for i in range(5)
    ]
