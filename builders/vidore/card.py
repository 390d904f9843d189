"""The dataset card of a built folder, written from its manifest."""

from collections.abc import Mapping
from typing import Any

from builders.export import dataset_card

_CODES = {
    "english": "en",
    "french": "fr",
    "german": "de",
    "italian": "it",
    "portuguese": "pt",
    "spanish": "es",
}
_EMPTY_RULES = {
    "same": "count as copies of one another",
    "distinct": "are never taken for copies",
    "drop": "are never added as negatives",
}


def write_card(manifest: Mapping[str, Any]) -> str:
    """Return the text of `README.md`."""
    configs = {part: f"{part}/test-*" for part in ("corpus", "queries", "qrels")}
    languages = [_CODES[name] for name in manifest["query_languages"] if name in _CODES]
    text = "\n\n".join([_head(manifest), _how(manifest), _table(manifest), _use(manifest)])
    return dataset_card(configs, text, license_id=manifest["license"], languages=languages)


def _head(manifest: Mapping[str, Any]) -> str:
    counts = manifest["counts"]
    grades = ", ".join(str(grade) for grade in manifest["grades"])
    return f"""# {manifest["name"]}

A pool of {counts["corpus"]:,} pages for visual document retrieval, and {counts["queries"]:,} queries in {len(manifest["query_languages"])} language(s), built from {len(manifest["sources"])} source(s) by the rules of NanoViDoRe v3.

| config | rows | what |
| --- | --- | --- |
| corpus | {counts["corpus"]:,} | page images and their text; {counts["judged"]:,} are judged relevant to some query |
| queries | {counts["queries"]:,} | no two are translations of one another |
| qrels | {counts["qrels"]:,} | grades {grades} |

`source_dataset`, `source_corpus_id`, `source_query_id` and `source_query_group` lead back to the sources. `license` is that of each page: {", ".join(manifest["licenses"])}."""


def _how(manifest: Mapping[str, Any]) -> str:
    recipe, skipped = manifest["recipe"], manifest["near_duplicates"]["skipped"]
    miner = recipe["miner"]
    revision = f" at {miner['revision']}" if miner.get("revision") else ""
    empty = sum(manifest["near_duplicates"]["pages_without_text"].values())
    return f"""## How it was built

**Queries.** In every source the languages are as even as whole numbers allow, and every query format keeps its share of the source's queries.

**Negatives.** Each query ranks the pages of its own source with `{miner["model"]}`{revision}; the best {recipe["top_k"]} that are not judged relevant are its candidates. The free places are shared out in proportion to the sources' sizes. Within a source the queries take turns, each adding its best candidate that is not in the pool yet.

**No copies.** A candidate is passed over when its normalised text equals that of a pooled page, or when one of the two holds half of the other's word {recipe["ngram_words"]}-grams. {skipped["pages"]:,} pages were passed over: {skipped["exact"]:,} exact copies, {skipped["containment"]:,} by containment, {skipped["empty"]:,} without text. Pages without text ({empty:,} in the sources) {_EMPTY_RULES[recipe["empty_pages"]]}. `provenance/` says which page copies which, and which query brought which negative."""


def _table(manifest: Mapping[str, Any]) -> str:
    rows = [
        f"| {row['name']} | {row['of']['pages']:,} | {row['of']['groups']:,} | {row['queries']} | "
        f"{row['judged']:,} | {row['negatives']:,} |"
        for row in manifest["sources"]
    ]
    head = "| source | its pages | its queries | queries | judged pages | negatives |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *rows])


def _use(manifest: Mapping[str, Any]) -> str:
    return f"""## Evaluation

Each query is scored against the whole pool; its qrels name pages of its own source only. nDCG@10 for each source, and their mean:

```bash
MTEB_NANO_DATA=. mteb run -t {manifest["name"]} -m mteb/baseline-bm25s
```"""
