"""Turn your own PDFs, queries and relevance judgements into a source for `builders.vidore`.

    python -m builders.pages docs/*.pdf --queries queries.jsonl --qrels qrels.tsv --out source

queries.jsonl has one query a line, all in one language, or each of them in every language; the
language may be left out, and then it is --language:

    {"query_id": "q1", "query": "Who signs the safety report?", "language": "english"}

qrels.tsv has one relevant page a line, with this head; pages count from 1, as a PDF viewer shows
them, and the score may be left out (1 relevant, 2 answers the query fully):

    query_id    file          page    score
    q1          safety.pdf    12      2
"""

import argparse
import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builders.export import replacing_folder
from builders.extras import needs_extra
from builders.judgements import read_qrels, read_queries
from builders.vidore.sources import read_source
from mteb_nano.errors import UserError

DPI = 150  # A4 becomes 1240 x 1754 pixels: 8-point print stays legible
MAX_SIDE = 4000  # pixels; a poster is rendered at fewer dots an inch
JPEG_QUALITY = 90
_ROWS = 32  # pages in memory together
_CORPUS = pa.schema(
    [
        ("corpus_id", pa.int64()),
        ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        ("doc_id", pa.string()),
        ("markdown", pa.string()),
        ("page_number_in_doc", pa.int64()),
    ]
)
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parse(arguments)
    try:
        with needs_extra("builders"):
            n_pages, n_blank = build_source(
                options.pdfs,
                options.queries,
                options.qrels,
                options.out,
                dpi=options.dpi,
                language=options.language,
                license_id=options.license,
            )
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"wrote {options.out}: {n_pages:,} pages of {len(options.pdfs)} documents")
    if n_blank:
        print(f"{n_blank:,} pages have no text (scans?): only their images can be found")
    return 0


def build_source(
    pdfs: Sequence[Path],
    queries_file: Path,
    qrels_file: Path,
    out: Path,
    *,
    dpi: int = DPI,
    language: str = "english",
    license_id: str = "",
) -> tuple[int, int]:
    """Write a source folder, and return its number of pages and of pages without text.

    Pages are numbered through the documents in the order of their names; the folder is checked as
    `builders.vidore` will check it before it is renamed into place.

    Raises:
        UserError: A PDF is missing or cannot be read, or queries and qrels do not fit the pages.
    """
    documents = _by_name(pdfs)
    with replacing_folder(out) as part:
        first_page, n_blank = _write_corpus(part, documents, dpi, language, license_id)
        queries = read_queries(queries_file, language)
        query_ids = dict.fromkeys(row["query_id"] for row in queries)
        _write(part, "queries", queries)
        _write(part, "qrels", read_qrels(qrels_file, first_page, query_ids))
        read_source(out.name, part, origin=out.name)
    return sum(len(pages) for pages in first_page.values()), n_blank


def _by_name(pdfs: Sequence[Path]) -> dict[str, Path]:
    """Return file name -> path, in the order of names."""
    if missing := [path for path in pdfs if not path.is_file()]:
        raise UserError("\n".join(f"{path}: no such file" for path in missing))
    documents: dict[str, Path] = {}
    for path in sorted(pdfs, key=lambda path: path.name):
        if path.name in documents:
            raise UserError(f"{path}: a second file of the name {path.name}; rename one of them")
        documents[path.name] = path
    return documents


def _write_corpus(
    part: Path, documents: Mapping[str, Path], dpi: int, language: str, license_id: str
) -> tuple[dict[str, range], int]:
    """Write pages and documents; return file name -> its page ids, and the pages without text."""
    n_pages, n_blank = dict.fromkeys(documents, 0), 0
    rows = _corpus_rows(documents, dpi)
    (part / "corpus").mkdir()
    with pq.ParquetWriter(part / "corpus/test-00000-of-00001.parquet", _CORPUS) as writer:
        while batch := list(islice(rows, _ROWS)):
            writer.write_table(pa.Table.from_pylist(batch, _CORPUS))
            for row in batch:
                n_pages[row["doc_id"]] += 1
                n_blank += not row["markdown"]
    described, page_ids, start = [], {}, 0
    for name, path in documents.items():
        described.append(_describe(name, path, n_pages[name], language, license_id))
        page_ids[name] = range(start, start + n_pages[name])
        start += n_pages[name]
    _write(part, "documents_metadata", described)
    return page_ids, n_blank


def _corpus_rows(documents: Mapping[str, Path], dpi: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each page of each document."""
    corpus_id = 0
    for name, path in documents.items():
        for number, (image, text) in enumerate(render_pages(path, dpi=dpi)):
            yield {
                "corpus_id": corpus_id,
                "image": {"bytes": image, "path": None},
                "doc_id": name,
                "markdown": text,
                "page_number_in_doc": number,
            }
            corpus_id += 1


def render_pages(path: Path, *, dpi: int = DPI) -> Iterator[tuple[bytes, str]]:
    """Yield (JPEG, text) of each page of a PDF.

    Raises:
        UserError: The file is no PDF, is damaged, or needs a password.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except (OSError, pypdfium2.PdfiumError) as error:
        raise UserError(f"{path}: cannot be read as a PDF ({error}): damaged or locked?") from error
    try:
        for page in document:
            scale = min(dpi / 72, MAX_SIDE / max(page.get_size()))
            picture = page.render(scale=scale).to_pil().convert("RGB")
            buffer = io.BytesIO()
            picture.save(buffer, "JPEG", quality=JPEG_QUALITY)
            yield buffer.getvalue(), clean_text(page.get_textpage().get_text_range())
    except pypdfium2.PdfiumError as error:
        raise UserError(f"{path}: a page cannot be drawn ({error})") from error
    finally:
        document.close()


def clean_text(text: str) -> str:
    """Return a page's text without carriage returns, control characters and split words.

    PDFium marks a hyphen at the end of a line with U+FFFE or U+0002.
    """
    joined = re.sub("[\ufffe\x02]\\s*", "", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _UNSEEN.sub("", joined).strip()


def _describe(
    name: str, path: Path, n_pages: int, language: str, license_id: str
) -> dict[str, Any]:
    """Return a row of documents_metadata."""
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    about = document.get_metadata_dict()
    document.close()
    year = re.search(r"\d{4}", about.get("CreationDate", ""))
    return {
        "file_name": name,
        "doc_id": name,
        "url": "",
        "doc_type": about.get("Title", ""),
        "doc_language": language,
        "doc_year": year.group() if year else "",
        "page_number": n_pages,
        "license": license_id,
    }


def _write(part: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write one table."""
    (part / name).mkdir()
    table = pa.Table.from_pylist([dict(row) for row in rows])
    pq.write_table(table, part / name / "test-00000-of-00001.parquet")


def _dots(text: str) -> int:
    """Parse dots an inch."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        "python -m builders.pages",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pdfs", nargs="+", type=Path, metavar="PDF")
    parser.add_argument("--queries", type=Path, required=True, metavar="JSONL")
    parser.add_argument("--qrels", type=Path, required=True, metavar="TSV")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--dpi", type=_dots, default=DPI)
    parser.add_argument("--language", default="english", help="of queries that do not say theirs")
    parser.add_argument("--license", default="", help="of the documents")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
