"""Tables against values worked by hand, and what partial, mixed or hostile input must look like."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from rich.console import Console

from mteb_nano.report.__main__ import main
from mteb_nano.report.boards import make_boards
from mteb_nano.report.estimates import Resampling, estimate, estimate_difference
from mteb_nano.report.reading import read_results
from mteb_nano.report.render import is_signed, print_tables, show, to_csv, to_markdown, to_text
from mteb_nano.report.statistics import Interval
from mteb_nano.report.tables import cells_of, make_tables, standings
from tests.report.result_files import SOURCES, interval, subset_scores, width

FEW = Resampling(n_resamples=500)


def _boards(*paths):
    return make_boards(read_results(paths).results)


def test_mean_and_interval_of_a_page_board(write_pages):
    """The mean is mteb's own main score, and the interval resamples each source's 50 queries."""
    path = write_pages("org/model")
    from mteb.results import TaskResult

    board = _boards(path)[0]
    found = standings(board, resampling=Resampling(n_resamples=5000))[0]
    mean = interval(found.mean)
    assert mean.value == pytest.approx(TaskResult.from_disk(path).get_score(), abs=1e-9)
    # By the normal approximation, worked from the file itself.
    queries = [
        np.array(list(entry["per_query"]["ndcg_at_10"].values()))
        for entry in json.loads(path.read_text())["scores"]["test"]
    ]
    error = np.sqrt(sum(q.var(ddof=1) / 50 for q in queries)) / 8
    assert width(mean) == pytest.approx(2 * 1.96 * error, rel=0.05)


def test_partial_results_have_no_mean_and_no_rank(write_pages, tmp_path):
    """A result with 7 of 8 sources, all of them easier, must not win by what it lacks."""
    write_pages("org/whole", 0.5)
    write_pages("org/part", 0.9, sources=SOURCES[:7])
    board = _boards(tmp_path)[0]
    order = standings(board, resampling=FEW)
    assert [(s.label, s.rank) for s in order] == [("org/whole", 1), ("org/part", None)]
    assert order[1].mean is None
    note = " ".join(make_tables(board, resampling=FEW)[0].notes)
    assert "org/part is partial" in note
    assert "1 of 8 subsets are missing (physics)" in note


def test_a_lone_partial_result_of_a_published_task_is_partial(write_ocr, tmp_path):
    """What a whole result has comes from the catalog, not from the files at hand."""
    write_ocr("org/model", task="OCRMLDR")
    board = _boards(tmp_path)[0]
    assert len(board.subsets) == 60
    assert len(board.missing(board.results[0])) == 60 - 16


def test_missing_cells_of_an_own_ocr_task_are_seen(write_ocr, tmp_path):
    """In an unknown OCR task a cell that other languages have is missing, not unknown."""
    write_ocr("org/model", drop=("de_dpi120_font10_ocr",))
    board = _boards(tmp_path)[0]
    assert board.missing(board.results[0]) == ("de_dpi120_font10_ocr",)


def test_other_data_is_another_table(write_pages, tmp_path):
    """Two revisions, the sample and another task never share a table or a rank."""
    write_pages("org/a")
    write_pages("org/b", data_revision="b" * 40)
    write_pages("org/c", data_revision="sample-0.1.0", task="NanoViDoReV3Sample")
    write_pages("org/d", data_revision="local-0123456789ab")
    titles = [board.title for board in _boards(tmp_path)]
    assert titles == [
        "NanoViDoReV3 (data aaaaaaaaaa)",
        "NanoViDoReV3 (data bbbbbbbbbb)",
        "NanoViDoReV3 (local data local-0123456789ab)",
        "NanoViDoReV3Sample (sample data sample-0.1.0)",
    ]


def test_equal_means_share_a_rank(write_pages, tmp_path):
    """Two models with the same scores are both first, and the next one is third."""
    write_pages("org/a", 0.6)
    write_pages("org/b", 0.6)
    write_pages("org/c", 0.2)
    order = standings(_boards(tmp_path)[0], resampling=FEW)
    assert [(s.label, s.rank) for s in order] == [("org/a", 1), ("org/b", 1), ("org/c", 3)]


def test_languages_and_formats_are_means_over_sources(write_pages, tmp_path):
    """The by-language table is the mean of the sources' own language scores."""
    path = write_pages("org/model")
    entries = json.loads(path.read_text())["scores"]["test"]
    expected = np.mean([entry["ndcg_at_10_lang_fra"] for entry in entries])
    table = make_tables(_boards(tmp_path)[0], resampling=FEW)[1]
    assert "query language" in table.title
    assert table.rows[0][table.columns.index("fra")] == pytest.approx(expected)
    assert "query format" in make_tables(_boards(tmp_path)[0], resampling=FEW)[2].title


def test_ocr_retention_and_drop_of_known_noise(write_ocr, tmp_path):
    """Noise that keeps 70% of every query's score: retention 70, drop 30% of clean, paired."""
    write_ocr("org/model")
    board = _boards(tmp_path)[0]
    table = make_tables(board, resampling=FEW)[1]
    row = next(r for r in table.rows if r[1:3] == ("dpi120_font10", "ocr"))
    clean = next(r for r in table.rows if r[1:3] == ("dpi120_font10", "clean"))
    column = table.columns.index
    assert row[column("of clean")] == pytest.approx(0.7, abs=1e-4)
    drop, mean = interval(row[column("minus clean")]), interval(clean[column("mean")])
    assert drop.value == pytest.approx(-0.3 * mean.value, abs=1e-4)
    # Paired: as wide as 30% of the score's own interval, far from the width of two independent.
    assert width(drop) == pytest.approx(0.3 * width(mean), rel=0.02)


def test_a_query_is_one_query_in_all_settings(write_ocr, tmp_path):
    """The clean cells of all settings are the same scores, so their interval is no narrower."""
    write_ocr("org/model", settings=("dpi120_font10", "dpi300_font12"))
    board = _boards(tmp_path)[0]
    result = board.results[0]
    one = estimate(result, cells_of(board, setting="dpi120_font10", mode="clean"), resampling=FEW)
    both = estimate(result, cells_of(board, mode="clean"), resampling=FEW)
    assert both
    assert one
    assert (both.low, both.high) == pytest.approx((one.low, one.high))


def test_estimates_of_absent_subsets_are_none(write_ocr, tmp_path):
    """Neither a mean nor a difference is made from what happens to be there."""
    write_ocr("org/model", drop=("de_dpi120_font10_ocr",))
    board = _boards(tmp_path)[0]
    noisy, clean = cells_of(board, mode="ocr"), cells_of(board, mode="clean")
    assert estimate(board.results[0], noisy, resampling=FEW) is None
    assert estimate_difference(board.results[0], noisy, clean, resampling=FEW) is None


def test_without_per_query_scores_the_interval_is_said_to_be_unavailable(write_result, tmp_path):
    """A result of stock mteb has a mean and a rank, no interval, and a note that says why."""
    rng = np.random.default_rng(0)
    subsets = {s: subset_scores(rng.random(5).round(6), list("abcde")) for s in SOURCES}
    for scores in subsets.values():
        del scores["per_query"]
    write_result("org/model", "NanoViDoReV3", subsets)
    table = make_tables(_boards(tmp_path)[0], resampling=FEW)[0]
    mean = interval(table.rows[0][2])
    assert mean.low is None
    assert "[" not in show(mean)
    assert "Interval unavailable" in table.notes[-1]
    assert "org/model" in table.notes[-1]


def test_revisions_and_experiments_are_told_apart(write_pages, tmp_path):
    """Two revisions of a model are two rows whose labels differ."""
    write_pages("org/model", revision="1" * 40)
    write_pages("org/model", 0.5, revision="2" * 40)
    assert _boards(tmp_path)[0].labels() == ["org/model @11111111", "org/model @22222222"]


def test_csv_has_a_row_for_every_cell(write_ocr, tmp_path):
    """One row per model, language, setting and mode, that spreadsheet code reads back."""
    write_ocr("org/a")
    write_ocr('org/b,"quoted"', seed=1)
    rows = list(csv.DictReader(io.StringIO(to_csv(_boards(tmp_path), resampling=FEW))))
    assert len(rows) == 2 * 2 * 2 * 4
    cells = {(r["model"], r["language"], r["setting"], r["mode"]) for r in rows}
    assert len(cells) == 32
    assert ('org/b,"quoted"', "de", "dpi120_font10", "ocr2clean") in cells
    assert all(float(r["ndcg_at_10_low"]) <= float(r["ndcg_at_10"]) for r in rows)
    assert {r["n_queries"] for r in rows} == {"20"}


def test_markdown_renders_hostile_names_as_text(write_pages, tmp_path):
    """A name with Markdown and HTML in it comes out of a Markdown parser as itself."""
    from markdown_it import MarkdownIt

    name = "org/<script>alert(1)</script>|*b*_i_`c`[x](y)"
    write_pages(name.replace("/", "\u2044"), name=name)
    text = to_markdown(make_tables(_boards(tmp_path)[0], resampling=FEW))
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert "<script>" not in html
    assert "<em>" not in html
    assert "<a " not in html
    assert "alert(1)&lt;/script&gt;|*b*_i_`c`[x](y)</td>" in html


def test_terminal_names_are_no_markup(write_pages, tmp_path):
    """Brackets in a name are printed, not taken as rich's colours; long names are cut."""
    write_pages("org/[red]x[/red]")
    write_pages("org/long", 0.5, name="org/" + "n" * 300)
    text = to_text(make_tables(_boards(tmp_path)[0], resampling=FEW))
    assert "org/[red]x[/red]" in text
    assert "\N{HORIZONTAL ELLIPSIS}" in text


@pytest.mark.parametrize("columns", [50, 60, 80, 120])
@pytest.mark.parametrize("name", ["org/short", "org/" + "n" * 60])
def test_no_number_is_broken_in_a_narrow_terminal(write_pages, write_ocr, tmp_path, columns, name):
    """Every mean with its interval stands whole on one line, and no line is wider than allowed."""
    write_pages("org/one", name=name)
    write_ocr("org/one", name=name)
    tables = [t for b in _boards(tmp_path) for t in make_tables(b, resampling=FEW)]
    screen = io.StringIO()
    print_tables(
        tables, console=Console(file=screen, width=columns, force_terminal=True, no_color=True)
    )
    lines = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue()).splitlines()
    assert max(map(len, lines)) <= columns
    cells = Counter(
        cell.strip() for line in lines for cell in line.split("\N{BOX DRAWINGS LIGHT VERTICAL}")
    )
    for table in tables:
        for row in table.rows:
            for column, value in zip(table.columns, row, strict=True):
                if not isinstance(value, str):
                    assert cells[show(value, signed=is_signed(column))]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "\N{EN DASH}"),
        (0.62349, "62.3"),
        (-0.00001, "0.0"),
        (Interval(0.5), "50.0"),
        (Interval(0.5, 0.4, 0.61), "50.0 [40.0, 61.0]"),
        (3, "3"),
    ],
)
def test_show(value, text):
    """Scores are points with one digit, unknown is a dash, zero has no sign."""
    assert show(value) == text


def test_command_reports_what_it_can(write_pages, tmp_path, capsys):
    """Exit code 0 with the problems on stderr; 2 when nothing could be read."""
    write_pages("org/model")
    (tmp_path / "broken.json").write_text("{")
    assert main(["report", str(tmp_path), "--json", "--resamples", "200"]) == 0
    shown = capsys.readouterr()
    assert "broken.json" in shown.err
    document = json.loads(shown.out)
    assert document["boards"][0]["results"][0]["rank"] == 1
    assert "broken.json" in document["problems"][0]
    assert main(["report", str(tmp_path / "broken.json")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_terminal_without_unicode_gets_escapes(write_pages, tmp_path):
    """Where stdout cannot show a character, the tables are printed all the same."""
    write_pages("org/model", name="org/\N{CJK UNIFIED IDEOGRAPH-4E2D}")
    for form in ([], ["--csv"], ["--markdown"]):
        done = subprocess.run(
            [sys.executable, "-m", "mteb_nano.cli", "report", str(tmp_path), *form],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        assert done.returncode == 0, done.stderr
        assert rb"org/\u4e2d" in done.stdout


def test_command_writes_files_whole_or_not_at_all(write_pages, tmp_path, capsys):
    """--out writes beside and renames; a folder that is not there is one clear line, code 2."""
    write_pages("org/model")
    out = tmp_path / "table.md"
    assert main(["report", str(tmp_path / "results"), "--markdown", "--out", str(out)]) == 0
    assert out.read_text().startswith("**NanoViDoReV3")
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    nowhere = str(tmp_path / "no" / "table.md")
    assert main(["report", str(tmp_path / "results"), "--csv", "--out", nowhere]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "results"), "--csv", "--out", "."]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_same_files_same_bytes(write_ocr, tmp_path):
    """Two reports of the same files are byte-identical."""
    write_ocr("org/model")
    texts = [to_csv(_boards(tmp_path), resampling=FEW) for _ in range(2)]
    assert texts[0] == texts[1]
