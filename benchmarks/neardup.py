"""The exact near-copy graph against the plain way, and its growth with the number of pages.

    python -m benchmarks.neardup                  # fetches Debian documentation with apt-get
    python -m benchmarks.neardup --pages FOLDER   # any folder of text or HTML files

The plain way is a Python set of 13-grams a page and an intersection for every pair of pages. Both
run on the same pages, and must find the same pairs. Times are CPU seconds.
"""

import argparse
import html
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from benchmarks.peak_memory import peak_mb
from builders.vidore.neardup import NGRAM_WORDS, NearCopies, find_near_copies

# Prose in many languages, with natural near-copies: guides of two architectures, chapters of a book
# that are not translated yet.
PACKAGES = (
    "debian-handbook",
    "installation-guide-amd64",
    "installation-guide-i386",
    *(
        f"libreoffice-help-{language}"
        for language in ("cs", "da", "de", "en-us", "es", "fr", "it", "nl", "pl", "pt", "ru", "sv")
    ),
    "linux-doc-6.1",
    "postgresql-doc-15",
    "python-django-doc",
    "sqlite3-doc",
)
PAGE_WORDS = 300  # about what a printed page holds
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)


def main() -> int:
    """Print the table and return 0 if both ways agree."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=Path, help="folder of .txt, .md or .html files")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "neardup-pages")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 20_000, 50_000, 95_000])
    parser.add_argument("--plain", type=int, default=12_000, help="pages for the plain way")
    options = parser.parse_args()
    pages = load_pages(options.pages, options.cache)
    print(f"{len(pages):,} pages of {options.pages or f'{len(PACKAGES)} Debian packages'}")
    same = compare(pages.slice(0, options.plain))
    print("\npages     CPU s  s/10,000  pairs        peak MB")
    for n in options.sizes:
        if n <= len(pages):
            measure(pages.slice(0, n), len(pages.slice(0, n)))
    return 0 if same else 1


def compare(pages: pa.Array) -> bool:
    """Run both ways on the same pages, print the ratio, and return whether they agree."""
    start = time.process_time()
    graph = find_near_copies(pages)
    fast = time.process_time() - start
    start = time.process_time()
    expected = plain_pairs(pages.to_pylist())
    plain = time.process_time() - start
    found = page_pairs(graph)
    print(
        f"{len(pages):,} pages: plain sets {plain:.1f} s, graph {fast:.2f} s, {plain / fast:.0f}x; "
        f"{len(expected):,} pairs, {'the same' if found == expected else 'DIFFERENT'}"
    )
    return found == expected


def plain_pairs(texts: list[str]) -> set[tuple[int, int]]:
    """Return the pairs of near-copies by the definition."""
    grams = []
    for text in texts:
        words = unicodedata.normalize("NFKD", text.lower()).split()
        grams.append({tuple(words[i : i + NGRAM_WORDS]) for i in range(len(words) - 12)})
    return {
        (i, j)
        for j, b in enumerate(grams)
        for i, a in enumerate(grams[:j])
        if a and b and 2 * len(a & b) >= min(len(a), len(b))
    }


def page_pairs(graph: NearCopies) -> set[tuple[int, int]]:
    """Return the pairs of pages in a graph of texts."""
    pages_of: dict[int, list[int]] = {}
    for page, text in enumerate(graph.text_of.tolist()):
        if graph.n_grams[text]:
            pages_of.setdefault(text, []).append(page)
    pairs = set()
    for text, pages in pages_of.items():
        others = [*pages, *(p for other, _ in graph.partners_of(text) for p in pages_of[other])]
        pairs |= {(a, b) for a in pages for b in others if a < b}
    return pairs | {(a, b) for a, b in pairs if a < b}


def measure(pages: pa.Array, n: int) -> None:
    """Run the graph in a process of its own, and print time and peak memory."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        pq.write_table(pa.table({"text": pages}), file.name)
        code = f"from benchmarks.neardup import run; run({file.name!r}, {n})"
        subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])


def run(path: str, n: int) -> None:
    """Print one row of the table; runs in a process of its own."""
    pages = pq.read_table(path)["text"]
    start = time.process_time()
    graph = find_near_copies(pages)
    seconds = time.process_time() - start
    peak = peak_mb()
    n_pairs = len(graph.partners) // 2
    print(f"{n:7,} {seconds:7.1f} {1e4 * seconds / n:9.2f}  {n_pairs:11,} {peak:8,.0f}", flush=True)


def load_pages(folder: Path | None, cache: Path) -> pa.Array:
    """Return the pages in an order that has nothing to do with where they come from."""
    if folder is not None:
        return _shuffle(list(read_pages(folder)))
    kept = cache / "pages.parquet"
    if not kept.exists():
        (cache / "files").mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "-q", *PACKAGES], cwd=cache, check=True)
        for package in sorted(cache.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, cache / "files" / package.stem], check=True)
        pq.write_table(pa.table({"text": _shuffle(list(read_pages(cache / "files")))}), kept)
    return pq.read_table(kept)["text"].combine_chunks()


def _shuffle(texts: list[str]) -> pa.Array:
    """Return the texts in the order of a hash of their place."""
    order = sorted(range(len(texts)), key=lambda i: xxhash.xxh64_intdigest(str(i).encode()))
    return pa.array([texts[i] for i in order], pa.large_string())


def read_pages(folder: Path) -> Iterator[str]:
    """Yield the text of files, cut into pages."""
    # Sphinx repeats its navigation on every page of HTML; the text that it was made from does not.
    has_source = [path.parent for path in folder.rglob("_sources")]
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".html", ".htm", ".txt", ".md", ".rst") or path.is_symlink():
            continue
        if path.suffix == ".html" and any(root in path.parents for root in has_source):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        words = html.unescape(_TAGS.sub(" ", text)).split()
        for start in range(0, len(words), PAGE_WORDS):
            yield " ".join(words[start : start + PAGE_WORDS])


if __name__ == "__main__":
    sys.exit(main())
