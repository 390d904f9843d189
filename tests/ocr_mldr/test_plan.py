import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.ocr_mldr.plan import Plan, make_plan
from builders.ocr_mldr.sources import Qrel
from mteb_nano.errors import UserError


class ListSource:
    """A source of lists."""

    def __init__(self, documents, queries, qrels):
        self._documents, self._queries, self._qrels = documents, queries, qrels

    def documents(self, lang):
        yield from self._documents

    def queries(self, lang):
        yield from self._queries

    def qrels(self, lang):
        yield from (Qrel(*row) for row in self._qrels)

    def describe(self):
        return {"source": "lists", "revision": None}


def documents(n=50):
    return [(f"d{i}", f"Text Nummer {i}. Gleicher Satz.") for i in range(n)]


QUERIES = [("q1", "Gleicher Satz."), ("q2", "Frage zwei?"), ("q3", "ohne Antwort")]
QRELS = [("q1", "d7", 1), ("q2", "d9", 2), ("q2", "d11", 0)]


def plan(tmp_path, source, n=10, seed=0, max_chars=2000) -> Plan:
    path = tmp_path / "plan.sqlite"
    return make_plan(path, source, "de", n_documents=n, seed=seed, max_chars=max_chars)


def chosen(tmp_path, rows, **options):
    made = plan(tmp_path, ListSource(rows, QUERIES, QRELS), **options)
    return [t.id for t in made.texts("corpus")]


def test_all_judged_documents_are_in_and_others_fill_up(tmp_path):
    """Ten documents, among them the two with a positive label, sorted by id."""
    ids = chosen(tmp_path, documents())
    assert len(ids) == 10
    assert {"d7", "d9"} <= set(ids)
    assert ids == sorted(ids)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_the_draw_does_not_depend_on_the_order_of_the_source(tmp_path_factory, seed):
    """Shuffled rows give the same documents; another seed gives others."""
    tmp_path = tmp_path_factory.mktemp("plan")
    rows = documents()
    first = chosen(tmp_path, rows)
    random.Random(seed).shuffle(rows)
    assert chosen(tmp_path, rows) == first
    assert chosen(tmp_path, rows, seed=1) != first


def test_the_draw_is_uniform(tmp_path):
    """Over 200 seeds every document is drawn about as often: 8 of the 48 others each time."""
    n = dict.fromkeys((key for key, _ in documents()), 0)
    for seed in range(200):
        for key in chosen(tmp_path, documents(), seed=seed):
            n[key] += 1
    others = [v for k, v in n.items() if k not in {"d7", "d9"}]
    assert n["d7"] == n["d9"] == 200
    assert sum(others) == 200 * 8
    assert 15 <= min(others) <= max(others) <= 55  # mean 33, sd 5.3


def test_a_source_with_fewer_documents_gives_all(tmp_path):
    """2,000 asked, 50 there."""
    assert len(chosen(tmp_path, documents(), n=2000)) == 50


def test_equal_sentences_are_one(tmp_path):
    """50 documents and a query with a line in common: 50 + 1 + 1 distinct sentences."""
    made = plan(tmp_path, ListSource(documents(), QUERIES, QRELS), n=50)
    assert made.n_sentences == 52
    assert made.sentences(1, 2) == ["Gleicher Satz."]
    numbers = {t.id: t.sentences for t in made.texts("queries")}
    assert numbers == {"q1": [1], "q2": [51]}  # q3 has no label: it is left out


def test_shards_are_all_sentences_in_order(tmp_path):
    """Cut into pieces of 7, nothing is lost and nothing moves."""
    made = plan(tmp_path, ListSource(documents(), QUERIES, QRELS), n=50)
    shards = list(made.shards(7))
    assert [len(s) for s in shards] == [7] * 7 + [3]
    assert [s for shard in shards for s in shard] == made.sentences(0, 52)


def test_blank_documents_are_passed_over_and_counted(tmp_path):
    """Nobody can find a page without ink; the draw takes another."""
    rows = documents() + [(f"blank{i}", "\u200b \n") for i in range(30)]
    made = plan(tmp_path, ListSource(rows, QUERIES, QRELS), n=60)
    assert made.n_texts("corpus") == 50
    assert made.counts["blank_documents_passed_over"] == 30


@pytest.mark.parametrize(
    ("rows", "queries", "qrels", "n", "message"),
    [
        (documents(), QUERIES, [("q1", "none", 1)], 10, "1 corpus ids that do not exist: none"),
        (documents(), QUERIES, [("none", "d1", 1)], 10, "1 queries ids that do not exist: none"),
        (documents(), QUERIES, QRELS, 1, "2 documents are judged, so --docs must be as many"),
        (documents(), QUERIES, [("q1", "d1", 0)], 10, "no document has a positive label"),
        (documents() * 2, QUERIES, QRELS, 10, r"\d+ ids stand twice"),
        (
            [("d7", "\u200b"), ("d9", "x")],
            QUERIES,
            QRELS,
            10,
            "1 judged texts have nothing to draw",
        ),
    ],
)
def test_faults_of_the_source_are_named(tmp_path, rows, queries, qrels, n, message):
    """What is wrong, how often, and which ids."""
    with pytest.raises(UserError, match=message):
        plan(tmp_path, ListSource(rows, queries, qrels), n=n)


def test_several_faults_are_reported_together(tmp_path):
    """Unknown documents and unknown queries in one message."""
    source = ListSource(documents(), QUERIES, [("q1", "x", 1), ("y", "d1", 1)])
    with pytest.raises(UserError, match=r"(?s)corpus ids.*: x.*queries ids.*: y"):
        plan(tmp_path, source)


def test_the_digest_changes_with_any_text_or_label(tmp_path):
    """What the manifest says of the input tells inputs apart."""
    digests = set()
    for rows, qrels in (
        (documents(), QRELS),
        ([("d0", "anders"), *documents()[1:]], QRELS),
        (documents(), [*QRELS[:1], ("q2", "d9", 1)]),
    ):
        digests.add(plan(tmp_path, ListSource(rows, QUERIES, qrels), n=50).sha256)
    assert len(digests) == 3
