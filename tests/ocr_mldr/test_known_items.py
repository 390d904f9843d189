import json

import pytest

from builders.ocr_mldr.known_items import (
    QUERY_CHARS,
    Passage,
    cut_passages,
    draw_queries,
    main,
    write_known_items,
)
from builders.ocr_mldr.noise import noise_texts
from builders.ocr_mldr.sentences import drawable
from tests.ocr_mldr.ocr_cases import GERMAN, content_of

SENTENCE = "Satz Nummer {} hat genau so viele Zeichen, wie eine Frage haben soll."
TEXTS = [
    (f"text{t}", "\n\n".join(SENTENCE.format(f"{t}-{n}") + " Kurz." for n in range(30)))
    for t in range(3)
]


@pytest.mark.parametrize("n", [3, 10, 40, 90])
def test_passages_are_whole_paragraphs_and_lose_nothing(n):
    """Joined again, the passages of a text are the text; there are at least as many as asked."""
    passages = cut_passages(TEXTS, n=n)
    assert len(passages) >= n
    for name, text in TEXTS:
        assert "\n\n".join(p.text for p in passages if p.id.startswith(name)) == text
    assert [p.id for p in passages] == sorted(p.id for p in passages)


def test_more_passages_than_paragraphs_are_refused():
    """90 paragraphs do not make 91 passages."""
    with pytest.raises(ValueError, match="the texts have 90 paragraphs"):
        cut_passages(TEXTS, n=91)


def test_queries_are_sentences_of_one_passage_only():
    """A sentence that stands in several passages would have several right answers."""
    passages = cut_passages(TEXTS, n=20)
    queries = draw_queries(passages, "de", n=15, seed="0")
    text_of = {p.id: p.text for p in passages}
    assert len(queries) == len({passage for _, passage in queries}) == 15
    low, high = QUERY_CHARS
    for query, passage in queries:
        assert low <= len(query) <= high
        assert [key for key, text in text_of.items() if query in text] == [passage]


def test_dropped_words_are_those_at_the_start():
    """A sentence of no more words than are dropped is no query."""
    start = "Davor stehen "
    passage = Passage(
        "p", f"{start}{'sieben weitere Worte ' * 3}am Ende. {'W' * 60}. Zwei {'W' * 60}."
    )
    queries = draw_queries([passage], "de", n=1, seed="0", dropped_words=2)
    assert queries == [("sieben weitere Worte " * 3 + "am Ende.", "p")]


@pytest.mark.parametrize(("dropped_words", "n", "n_alike"), [(0, 4, 4), (1, 3, 0)])
def test_a_query_without_its_first_word_is_misread_otherwise(dropped_words, n, n_alike):
    """Whole sentences carry the very noise of their passage; then OCR would not cost a score."""
    passages = [Passage(str(number), drawable(text)) for number, text in enumerate(GERMAN)]
    queries = draw_queries(passages, "de", n=9, seed="0", dropped_words=dropped_words)
    noisy = noise_texts([p.text for p in passages], "de", "120/10", "fast")
    read = noise_texts([query for query, _ in queries], "de", "120/10", "fast")
    alike = [q for q, (_, key) in zip(read, queries, strict=True) if q in noisy[int(key)]]
    assert (len(queries), len(alike)) == (n, n_alike)


def test_the_same_seed_gives_the_same_files(tmp_path):
    """And another seed other queries."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in TEXTS:
        (folder / f"de_{name}.txt").write_text(text)
    sizes = {"n_passages": 20, "n_queries": 10}
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        write_known_items(folder, tmp_path / name, ["de"], seed=seed, **sizes)
    assert content_of(tmp_path / "a") == content_of(tmp_path / "b") != content_of(tmp_path / "c")
    rows = (tmp_path / "a" / "de" / "corpus.jsonl").read_text().splitlines()
    assert json.loads(rows[0])["_id"] == "de_text0-0000"


def test_missing_texts_are_named(tmp_path, capsys):
    """One line, status 2, no folder."""
    assert main([str(tmp_path), "--out", str(tmp_path / "out"), "--langs", "de"]) == 2
    assert "expected de/*.txt or de_*.txt" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--passages", "1"), "de: no passage has a sentence of its own of 50 to 120"),
        (("--passages", "0"), "expected at least 1 passage"),
        (("--drop-words", "-1"), "0 dropped words, got 200, 100 and -1"),
    ],
)
def test_what_gives_no_queries_is_refused(tmp_path, capsys, more, message):
    """One line, status 2, no folder: a benchmark without queries would score nothing."""
    (tmp_path / "de_a.txt").write_text("Kurz.")
    out = tmp_path / "out"
    assert main([str(tmp_path), "--out", str(out), "--langs", "de", *more]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_fewer_queries_than_asked_for_are_told(tmp_path, capsys):
    """What was written is counted, and a shortfall is said."""
    for name, text in TEXTS:
        (tmp_path / f"de_{name}.txt").write_text(text)
    out = tmp_path / "out"
    sizes = ["--passages", "20", "--queries", "1000"]
    assert main([str(tmp_path), "--out", str(out), "--langs", "de", *sizes]) == 0
    n_passages, n_queries = (
        len((out / "de" / f"{part}.jsonl").read_text().splitlines())
        for part in ("corpus", "queries")
    )
    told = f"de: {n_passages} passages, {n_queries} queries (of 1000 asked for)\n"
    assert capsys.readouterr().out == told
