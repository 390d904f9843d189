"""Which pages are near-copies of one another: the exact graph, computed once for all pages.

Text is lowercased, NFKD-normalised and split at whitespace (Unicode tables of Arrow's utf8proc).
Pages are exact copies when their normalised texts have the same xxHash-64, and near-copies when
they share at least half of the distinct word 13-grams of one of the two, that is
2 |A & B| >= min(|A|, |B|). A page of fewer than 13 words has no 13-grams: only exact copies.

Source: LightOn, https://arxiv.org/abs/2607.27178.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
import xxhash

NGRAM_WORDS = 13  # https://arxiv.org/abs/2607.27178
_BATCH_PAGES = 2048  # pages whose words are in memory together
_BLOCK_PRODUCTS = 20_000_000  # multiplications of one block of the sparse product: about 300 MB

arrow: Any = pc  # its functions are made at run time, unseen by type checkers

UInt64s = npt.NDArray[np.uint64]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NearCopies:
    """The graph. Pages with the same normalised text are one node, called a text.

    Attributes:
        text_of: (n_pages,) the text of each page.
        empty: (n_texts,) whether the text has no words.
        n_grams: (n_texts,) distinct 13-grams of each text.
        starts: (n_texts + 1,) where the partners of each text begin in the next two.
        partners: Texts that are near-copies, each pair in both directions, in ascending order.
        shared: How many 13-grams the pair shares.
    """

    text_of: Int64s
    empty: npt.NDArray[np.bool_]
    n_grams: Int64s
    starts: Int64s
    partners: Int64s
    shared: Int64s

    def partners_of(self, text: int) -> Iterator[tuple[int, float]]:
        """Yield (text, containment of the smaller in the larger) of each near-copy."""
        for k in range(self.starts[text], self.starts[text + 1]):
            other = int(self.partners[k])
            yield other, int(self.shared[k]) / int(min(self.n_grams[text], self.n_grams[other]))


def find_near_copies(pages: pa.ChunkedArray | pa.Array) -> NearCopies:
    """Return the exact near-copy graph of pages.

    Args:
        pages: (n_pages,) strings, raw text; null counts as empty.

    Returns:
        All pairs, up to collisions of 64-bit hashes (about 1 in a million for 6 million n-grams).
    """
    keys, grams, texts = [], [], []
    seen: dict[int, int] = {}
    text_of = np.empty(len(pages), np.int64)
    hashes: dict[str, int] = {}
    for start in range(0, len(pages), _BATCH_PAGES):
        words, page_keys = _words_of(pages.slice(start, _BATCH_PAGES))
        fresh = []
        for row, key in enumerate(page_keys):
            if key not in seen:
                seen[key] = len(seen)
                keys.append(key)
                fresh.append(row)
            text_of[start + row] = seen[key]
        gram, row = _grams_of(words.take(pa.array(fresh, pa.int64())), hashes)
        grams.append(gram)
        texts.append(row + (len(keys) - len(fresh)))
    gram, text = np.concatenate([*grams, _NO_GRAMS]), np.concatenate([*texts, _NO_TEXTS])
    matrix, n_grams = _count_grams(gram, text, len(keys))
    a, b, shared = _pairs(matrix, n_grams)
    empty = np.array([key == _EMPTY_KEY for key in keys], np.bool_)
    return NearCopies(text_of, empty, n_grams, *_both_ways(a, b, shared, len(keys)))


_SPACE = pa.scalar(" ", pa.large_string())
_EMPTY_KEY = xxhash.xxh64_intdigest(b"")
_NO_GRAMS = np.empty(0, np.uint64)
_NO_TEXTS = np.empty(0, np.int64)


def normalise(pages: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return the normalised text of each page: lowercase, NFKD, one space between words."""
    return arrow.binary_join(_split(pages), _SPACE)


def _split(pages: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return the list of normalised words of each page."""
    if isinstance(pages, pa.ChunkedArray):
        pages = pages.combine_chunks()
    text = arrow.utf8_normalize(arrow.utf8_lower(pages.cast(pa.large_string())), form="NFKD")
    text = arrow.utf8_trim_whitespace(arrow.fill_null(text, ""))
    words = arrow.utf8_split_whitespace(text)
    # Splitting "" gives one empty word, which is no word.
    return arrow.if_else(arrow.equal(text, ""), pa.scalar([], words.type), words)


def _words_of(pages: pa.ChunkedArray | pa.Array) -> tuple[pa.Array, list[int]]:
    """Return the words of each page and the xxHash-64 of each normalised text."""
    words = _split(pages)
    joined = arrow.binary_join(words, _SPACE)
    return words, [xxhash.xxh64_intdigest(text.as_buffer() or b"") for text in joined]


def _grams_of(words: pa.Array, hashes: dict[str, int]) -> tuple[UInt64s, Int64s]:
    """Return (hash, row) of every n-gram of every row, row by row."""
    flat = words.flatten().dictionary_encode()
    codes = np.fromiter(
        (_word_hash(word, hashes) for word in flat.dictionary.to_pylist()), np.uint64
    )
    lengths = arrow.list_value_length(words).to_numpy(zero_copy_only=False).astype(np.int64)
    row = np.repeat(np.arange(len(lengths)), lengths)
    n = len(row) - NGRAM_WORDS + 1
    if n <= 0:
        return _NO_GRAMS, _NO_TEXTS
    gram = _window_hashes(codes[flat.indices.to_numpy()], n)
    within = row[:n] == row[NGRAM_WORDS - 1 :]
    return gram[within], row[:n][within]


def _word_hash(word: str, hashes: dict[str, int]) -> int:
    """Return the xxHash-64 of a word, remembered."""
    code = hashes.get(word)
    if code is None:
        code = hashes[word] = xxhash.xxh64_intdigest(word.encode())
    return code


def _window_hashes(word: UInt64s, n: int) -> UInt64s:
    """Return a polynomial hash, modulo 2**64, of the n windows of 13 word hashes."""
    gram = np.zeros(n, np.uint64)
    for k in range(NGRAM_WORDS):
        gram *= np.uint64(0xD6E8FEB86659FD93)  # an odd multiplier loses no bits
        gram += word[k : k + n]
    return gram


def _count_grams(gram: UInt64s, text: Int64s, n_texts: int) -> tuple[sp.csr_matrix, Int64s]:
    """Return the 0/1 matrix of texts by n-grams, and the number of n-grams of each text.

    The matrix is without the n-grams of a single text: most of them, and they join nothing.
    """
    order = np.argsort(gram, kind="stable")  # stable: equal n-grams stay in the order of texts
    gram, text = gram[order], text[order]
    new = np.ones(len(gram), np.bool_)
    new[1:] = gram[1:] != gram[:-1]
    first = new.copy()
    first[1:] |= text[1:] != text[:-1]
    new, text = new[first], text[first]
    n_grams = np.bincount(text, minlength=n_texts).astype(np.int64)
    column = np.cumsum(new) - 1
    common = np.bincount(column) > 1 if len(column) else np.empty(0, np.bool_)
    keep = common[column]
    column = (np.cumsum(common) - 1)[column[keep]]
    ones = np.ones(len(column), np.int32)
    shape = (n_texts, int(common.sum()))
    return sp.csr_matrix((ones, (text[keep], column)), shape=shape), n_grams


def _pairs(matrix: sp.csr_matrix, n_grams: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Return (a, b, shared n-grams) of each pair of near-copies, a < b."""
    # The smaller of a pair shares half of its n-grams, so it has at least as many that are in
    # some other text; all other texts can only be the larger one.
    rows = np.flatnonzero((2 * np.diff(matrix.indptr) >= n_grams) & (n_grams > 0))
    degree = np.asarray(matrix.sum(axis=0)).ravel()
    cost = np.add.reduceat(np.append(degree[matrix.indices], 0), matrix.indptr[:-1])[rows]
    transposed = matrix.T.tocsr()
    found = []
    for block in _blocks(rows, cost):
        product = (matrix[block] @ transposed).tocoo()
        a, b = block[product.row].astype(np.int64), product.col.astype(np.int64)
        near = 2 * product.data.astype(np.int64) >= np.minimum(n_grams[a], n_grams[b])
        near &= a != b
        found.append((np.minimum(a, b)[near], np.maximum(a, b)[near], product.data[near]))
    if not found:
        return _NO_TEXTS, _NO_TEXTS, _NO_TEXTS
    a, b, shared = (np.concatenate(part).astype(np.int64) for part in zip(*found, strict=True))
    _, first = np.unique(a * len(n_grams) + b, return_index=True)
    return a[first], b[first], shared[first]


def _blocks(rows: Int64s, cost: Int64s) -> Iterator[Int64s]:
    """Yield runs of rows whose products fit in memory together."""
    if not len(rows):
        return
    cuts = np.flatnonzero(np.diff(np.cumsum(cost) // _BLOCK_PRODUCTS)) + 1
    yield from np.split(rows, cuts)


def _both_ways(a: Int64s, b: Int64s, shared: Int64s, n_texts: int) -> tuple[Int64s, Int64s, Int64s]:
    """Return starts, partners and shared of the symmetric graph."""
    start, end = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.lexsort((end, start))
    starts = np.zeros(n_texts + 1, np.int64)
    np.cumsum(np.bincount(start, minlength=n_texts), out=starts[1:])
    return starts, end[order], np.concatenate([shared, shared])[order]
