"""Own documents: PDFs, queries and judgements become a source, and then a task."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image

from builders.pages import clean_text, main
from builders.vidore.__main__ import main as build_vidore
from builders.vidore.sources import read_source

TEXTS = [
    "Pumps need oil twice a year",
    "Valves close at forty degrees",
    "Fans are cleaned in spring",
]


def make_pdf(texts):
    """Return a PDF with one line of Helvetica on each A6 page; "" leaves a page blank."""
    n = len(texts)
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(n))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {n} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, text in enumerate(texts):
        stream = f"BT /F1 12 Tf 30 200 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 298 420] /Contents {5 + 2 * i} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    out += "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return out.encode()


@pytest.fixture
def documents(tmp_path):
    """Write two manuals of three and two pages, three queries and their judgements."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "manual.pdf").write_bytes(make_pdf(TEXTS))
    (folder / "annex.pdf").write_bytes(make_pdf(["Spare parts are listed here", ""]))
    queries = [
        {"query_id": "q1", "query": "When do pumps need oil?"},
        {"query_id": "q2", "query": "When are the fans cleaned?", "language": "english"},
        {"query_id": "q3", "query": "list of spare parts"},
    ]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text(
        "query_id\tfile\tpage\tscore\nq1\tmanual.pdf\t1\t2\nq2\tmanual.pdf\t3\t\nq3\tannex.pdf\t1\t1\n"
    )
    return tmp_path


def run(folder, *more):
    pdfs = [str(path) for path in sorted((folder / "docs").glob("*.pdf"))]
    files = ["--queries", str(folder / "queries.jsonl"), "--qrels", str(folder / "qrels.tsv")]
    return main([*pdfs, *files, "--out", str(folder / "source"), *more])


def test_pages_text_numbers_and_judgements(documents, capsys):
    """Every page is there as image and text, and each judgement names the page a reader sees."""
    assert run(documents, "--license", "CC-BY-4.0", "--dpi", "100") == 0
    assert "1 pages have no text" in capsys.readouterr().out
    rows = pq.read_table(documents / "source/corpus").to_pylist()
    assert [(r["doc_id"], r["page_number_in_doc"], r["markdown"]) for r in rows] == [
        ("annex.pdf", 0, "Spare parts are listed here"),
        ("annex.pdf", 1, ""),
        *(("manual.pdf", i, text) for i, text in enumerate(TEXTS)),
    ]
    picture = Image.open(io.BytesIO(rows[2]["image"]["bytes"]))
    assert picture.format == "JPEG"
    assert picture.size == (414, 584)  # 298 x 420 points at 100 dots an inch, rounded up
    source = read_source("source", documents / "source", origin="source")
    assert source.qrels == {"q1": {"2": 2}, "q2": {"4": 1}, "q3": {"0": 1}}
    assert {q.id: q.language for q in source.queries.values()} == {
        "q1": "english",
        "q2": "english",
        "q3": "english",
    }
    assert source.details[0]["license"] == "CC-BY-4.0"


def test_same_input_same_bytes(documents):
    """Rendered twice, in any order of the arguments, the folder is the same."""
    assert run(documents) == 0
    first = {p.name: p.read_bytes() for p in (documents / "source").rglob("*.parquet")}
    (documents / "source").rename(documents / "before")
    assert run(documents) == 0
    assert first == {p.name: p.read_bytes() for p in (documents / "source").rglob("*.parquet")}


HEAD = "query_id\tfile\tpage\tscore\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("qrels.tsv", "query_id\tfile\tpage\nq1\tmanual.pdf\t9\n", "has the pages 1 to 3, not 9"),
        ("qrels.tsv", "query_id\tfile\tpage\nq1\tother.pdf\t1\n", "no document 'other.pdf'"),
        ("qrels.tsv", "query_id\tfile\tpage\nq9\tmanual.pdf\t1\n", "unknown query q9"),
        ("qrels.tsv", "query\tfile\n", "misses the columns page, query_id"),
        ("qrels.tsv", "query_id file page\nq1 manual.pdf 1\n", "separated by tabs"),
        ("qrels.tsv", HEAD + "q1\tmanual.pdf\t1\t2\n", "qrels.tsv:\n  query q2: has no relevant"),
        ("qrels.tsv", HEAD, "query q3: has no relevant page"),
        ("qrels.tsv", "query_id\tfile\tpage\nq1\tmanual.pdf\tone\n", "whole numbers"),
        ("qrels.tsv", HEAD + "q1\tmanual.pdf\t2\t0\n", "line 2: query q1, manual.pdf page 2 with"),
        ("qrels.tsv", HEAD + 2 * "q1\tmanual.pdf\t2\t1\n", "line 3: query q1, manual.pdf page 2"),
        ("queries.jsonl", '{"query": "no id"}\n', "line 1: expected"),
        ("queries.jsonl", '\n{"query_id": "q1", "query": null}\n', "line 2: expected"),
        ("queries.jsonl", '{"query_id": "q1", "query": " "}\n', "line 1: expected"),
        ("queries.jsonl", '{"query_id": "q1", "query": "a", "language": 5.0}', "line 1: expected"),
        ("queries.jsonl", "", "has no queries"),
        ("docs/manual.pdf", "no pdf at all", "manual.pdf: cannot be read as a PDF"),
    ],
)
def test_one_clear_error(documents, capsys, name, content, message):
    """Each fault is named with file and line; nothing half-written is left."""
    (documents / name).write_text(content)
    assert run(documents) == 2
    assert message in capsys.readouterr().err
    assert not (documents / "source").exists()


def test_missing_pdfs_are_named_together(documents, capsys):
    """Files that are not there are all named before a page is rendered; nothing is written."""
    names = [str(documents / name) for name in ("a.pdf", "docs/manual.pdf", "b.pdf")]
    files = ["--queries", str(documents / "queries.jsonl"), "--qrels", str(documents / "qrels.tsv")]
    assert main([*names, *files, "--out", str(documents / "source")]) == 2
    assert capsys.readouterr().err == f"{names[0]}: no such file\n{names[2]}: no such file\n"
    assert not (documents / "source").exists()


def test_what_editors_do_to_text_files_changes_nothing(documents):
    """A byte-order mark, CRLF, blank lines, ids as numbers and U+2028 in a query are no faults."""
    lines = [
        '{"query_id": 1, "query": "When do pumps\u2028need oil?"}',
        "",
        '{"query_id": " q2 ", "query": "When are the fans cleaned?", "language": null}',
    ]
    qrels = [HEAD.strip(), "1\tmanual.pdf\t1\t2", "", "q2\tmanual.pdf\t3\t"]
    for name, content in (("queries.jsonl", lines), ("qrels.tsv", qrels)):
        text = "\ufeff" + "\r\n".join(content)
        (documents / name).write_bytes(text.encode())
    assert run(documents) == 0
    source = read_source("source", documents / "source", origin="source")
    assert {i: q.text for i, q in source.queries.items()} == {
        "1": "When do pumps\u2028need oil?",
        "q2": "When are the fans cleaned?",
    }
    assert source.queries["q2"].language == "english"
    assert source.qrels == {"1": {"2": 2}, "q2": {"4": 1}}


@pytest.mark.parametrize("dpi", ["0", "-5", "many"])
def test_dots_an_inch_are_checked_first(documents, capsys, dpi):
    """A resolution at which nothing can be drawn is refused before a page is."""
    with pytest.raises(SystemExit, match="2"):
        run(documents, "--dpi", dpi)
    assert "expected a whole number from 1 on" in capsys.readouterr().err


def test_clean_text():
    """Line ends, split words and control characters, as PDFium gives them."""
    assert clean_text("exam\ufffe\r\nple\x00 text\r\n") == "example text"


@pytest.mark.slow
def test_the_tutorial_as_written(documents, subprocess_env):
    """The README's files and three commands, from PDFs to a result file of `mteb run`."""
    readme = (Path(__file__).parents[2] / "builders/vidore/README.md").read_text()
    queries, qrels, commands = re.findall(r"```(?:json|tsv|bash)\n(.*?)```", readme, re.DOTALL)[:3]
    (documents / "queries.jsonl").write_text(queries)
    (documents / "qrels.tsv").write_text(qrels)
    bin_folder = str(Path(sys.executable).parent)  # where `python` and `mteb` are
    path = os.pathsep.join([bin_folder, subprocess_env["PATH"]])
    env = {**subprocess_env, "PATH": path, "MTEB_CACHE": "cache"}
    done = subprocess.run(
        ["bash", "-e", "-c", commands],
        cwd=documents,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(commands.strip().splitlines()) == 3
    (result,) = (documents / "results").rglob("OurManualsMarkdown.json")
    scores = json.loads(result.read_bytes())["scores"]["test"]
    assert [row["hf_subset"] for row in scores] == ["pages"]
    assert scores[0]["ndcg_at_10"] == pytest.approx(1.0, abs=0.2)


def test_scans(documents, capsys):
    """Pages without any text: each step that needs text says so, and with what it goes on."""
    picture = Image.new("RGB", (300, 400), "white")
    for name, n_pages in (("manual.pdf", 3), ("annex.pdf", 2)):
        more = [picture.copy() for _ in range(n_pages - 1)]
        picture.save(documents / "docs" / name, save_all=True, append_images=more)
    assert run(documents) == 0
    assert "5 pages have no text" in capsys.readouterr().out
    build = ["--sources", str(documents / "source"), "--queries-per-source", "all"]
    build += ["--pool-size", "all", "--name", "Scans", "--out", str(documents / "scans")]
    build += ["--miner", "mteb/baseline-bm25s"]
    assert build_vidore(build) == 2
    told = capsys.readouterr().err
    assert "use --empty-pages distinct" in told
    assert "--miner mteb-nano/tesseract-bm25s" in told
    assert build_vidore([*build, "--empty-pages", "distinct"]) == 2
    assert "--miner mteb-nano/tesseract-bm25s" in capsys.readouterr().err
