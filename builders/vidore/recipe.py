"""Every number that shapes NanoViDoRe v3, with its unit, reason and source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mteb_nano.catalog import NANO_VIDORE_V3

# https://huggingface.co/collections/vidore/vidore-benchmark-v3
HUB_SOURCES = {name: f"vidore/vidore_v3_{name}" for name in NANO_VIDORE_V3.sources}

EmptyPages = Literal["same", "distinct", "drop"]


@dataclass(frozen=True)
class PublishedSource:
    """What is known of one original dataset and its part of the published pool.

    Attributes:
        pages: Pages of the original corpus.
        groups: Distinct queries; each exists in six languages.
        negatives: Its share of the 2,218 mined pages, by largest remainder of `pages`.
    """

    pages: int
    groups: int
    negatives: int


PUBLISHED_SOURCES: Mapping[str, PublishedSource] = {
    "computer_science": PublishedSource(1360, 215, 157),
    "energy": PublishedSource(2225, 308, 256),
    "finance_en": PublishedSource(2942, 309, 339),
    "finance_fr": PublishedSource(2384, 320, 275),
    "hr": PublishedSource(1110, 318, 128),  # written out in the card
    "industrial": PublishedSource(5244, 283, 604),  # written out in the card
    "pharmaceuticals": PublishedSource(2313, 364, 266),
    "physics": PublishedSource(1674, 302, 193),
}

# The card of lightonai/NanoViDoRe_v3.
PUBLISHED_COUNTS: Mapping[str, int] = {
    **NANO_VIDORE_V3.counts,
    "negatives": 2218,
    "near-duplicates skipped": 218,
}

DEFAULT_MINER = "vultr/VultronRetrieverCore-Qwen3.5-4.5B"  # the card's miner
DEFAULT_MINER_REVISION = "461c7bc02d596932c76c12164596732dad9cf4f2"
SHARD_PAGES = 256  # some 100 MB at 700 tokens of 320 dimensions: read and written in a second


@dataclass(frozen=True)
class Recipe:
    """The parameters of a build; all of them go into the manifest.

    Attributes:
        queries_per_source: A number for all sources, or one for each, or "all".
        pool_size: Pages in the merged corpus, positives and negatives together; "all" for every
            candidate that copies no other page.
        top_k: Candidates kept for each query.
        seed: Which of the equally good samples; it also names the rows.
        empty_pages: What an unjudged page without text is: `same` as every other such page (the
            published rule, since all hash alike), `distinct`, or one to `drop`.
        miner: Model that ranks the candidates, by its name in mteb or a folder.
        miner_revision: Its revision; None for the one that mteb pins.
        visual_tokens: Most visual tokens of a page, None for the model's own limit.
    """

    queries_per_source: int | Literal["all"] | Mapping[str, int] = 50  # the card
    pool_size: int | Literal["all"] = 4000  # the card
    top_k: int = 200  # the card
    seed: int = 0
    empty_pages: EmptyPages = "same"
    miner: str = DEFAULT_MINER
    miner_revision: str | None = None
    visual_tokens: int | None = None
