"""Training pairs from the embedded sample: a passage of a page, and the page it is from."""

import random
from typing import Any

from mteb_nano.catalog import NANO_VIDORE_V3
from mteb_nano.evaluators.material import find_dataset
from mteb_nano.locate import fetch
from mteb_nano.read import read_pages


def sample_pages() -> Any:
    """Return the sample's pages: a dataset with `id`, `image` and `text`."""
    folder = fetch(find_dataset(NANO_VIDORE_V3, "sample"))
    return read_pages(folder, "image+markdown").documents


def passages(texts: list[str], *, per_page: int, n_words: int, seed: int) -> list[tuple[str, int]]:
    """Return (passage, page number) pairs in random order; each passage is `n_words` in a row."""
    draw = random.Random(seed)  # noqa: S311  a fixed seed is the point
    pairs = []
    for number, text in enumerate(texts):
        words = text.split()
        for _ in range(per_page if words else 0):
            start = draw.randrange(max(1, len(words) - n_words))
            pairs.append((" ".join(words[start : start + n_words]), number))
    draw.shuffle(pairs)
    return pairs
