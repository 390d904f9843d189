"""The published tasks over small seeded texts, as ours and as stock mteb evaluates them."""

import random

import datasets
from mteb.abstasks.retrieval import AbsTaskRetrieval

from mteb_nano import load
from mteb_nano.nano_vidore_v3 import NanoViDoReV3Markdown
from mteb_nano.ocr_mldr import OCRMLDR

WORDS = [f"w{i}" for i in range(60)]


def text(rng, n):
    return " ".join(rng.choices(WORDS, k=n))


def _texts(rows):
    return datasets.Dataset.from_dict({"id": [i for i, _ in rows], "text": [t for _, t in rows]})


def _noisy(rng, rows):
    return [
        (i, " ".join(w if rng.random() > 0.3 else rng.choice(WORDS) for w in t.split()))
        for i, t in rows
    ]


def page_subsets(names, n_documents=40, n_queries=5):
    rng = random.Random(1)
    corpus = [(f"d{i:02}", text(rng, rng.randint(4, 14))) for i in range(n_documents)]
    documents = _texts(corpus)
    found = {}
    for name in names:
        queries = [(f"{name}-{i}", text(rng, rng.randint(2, 6))) for i in range(n_queries)]
        qrels = {q: {f"d{rng.randrange(n_documents):02}": rng.choice([1, 2])} for q, _ in queries}
        groups = {q: (f"lang_{rng.choice(['eng', 'fra'])}",) for q, _ in queries}
        found[name] = load.Subset(documents, _texts(queries), qrels, "pages", groups)
    return found


def ocr_subsets(names, n_documents=12, n_queries=4):
    rng = random.Random(2)
    clean, noisy, found = {}, {}, {}
    for language in ("de", "en", "es", "fr", "ru"):
        corpus = [(f"d{i}", text(rng, rng.randint(4, 14))) for i in range(n_documents)]
        queries = [(f"q{i}", text(rng, rng.randint(2, 6))) for i in range(n_queries)]
        clean[language] = (corpus, queries)
        for setting in ("dpi120_font10", "dpi130_font10", "dpi300_font12"):
            noisy[language, setting] = (_noisy(rng, corpus), _noisy(rng, queries))
    for name in names:
        language, dpi, font, mode = name.split("_")
        of = {"clean": clean[language], "ocr": noisy[language, f"{dpi}_{font}"]}
        corpus_of, _, queries_of = mode.partition("2")
        corpus, queries = of[corpus_of][0], of[queries_of or corpus_of][1]
        key = load.content_key([i for i, _ in corpus], [t for _, t in corpus])
        qrels = {f"q{i}": {f"d{i}": 1} for i in range(n_queries)}
        found[name] = load.Subset(_texts(corpus), _texts(queries), qrels, key, {})
    return found


def at_revision(metadata, revision="local-test"):
    """Return the metadata as of data that are in memory."""
    copy = metadata.model_copy()
    copy._read = revision
    return copy


class Pages(NanoViDoReV3Markdown):
    metadata = at_revision(NanoViDoReV3Markdown.metadata)

    def load_subsets(self, names):
        return page_subsets(names)


class Texts(OCRMLDR):
    metadata = at_revision(OCRMLDR.metadata)

    def load_subsets(self, names):
        return ocr_subsets(names)


class StockPages(Pages):
    """As stock mteb evaluates it: each subset on its own, and its own k values."""

    k_values = AbsTaskRetrieval.k_values
    _evaluate_subset = AbsTaskRetrieval._evaluate_subset


class StockTexts(Texts):
    k_values = AbsTaskRetrieval.k_values
    _evaluate_subset = AbsTaskRetrieval._evaluate_subset
