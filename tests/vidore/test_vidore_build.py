"""The whole command on made-up sources, with BM25 as the miner."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.export import replacing_folder
from builders.vidore.__main__ import main
from builders.vidore.built import read_built
from builders.vidore.verify import verify_folder
from mteb_nano.errors import UserError
from tests.vidore.universe import make_rows, shuffled, write_source

OPTIONS = [
    *("--miner", "mteb/baseline-bm25s", "--queries-per-source", "a=10,b=7,c=6"),
    *("--pool-size", "70", "--name", "MadeUp", "--quiet"),
]


def write_world(folder, *, seed=None):
    """Write three sources; b repeats pages of a, so that copies meet across sources."""
    rows = {name: make_rows(i, n_pages=40 + i) for i, name in enumerate("abc")}
    for i in range(6):
        rows["b"]["corpus"][3 * i]["markdown"] = rows["a"]["corpus"][5 * i]["markdown"].upper()
    rows["c"]["corpus"][1]["markdown"] = ""
    rows["c"]["corpus"][2]["markdown"] = ""
    for name, tables in rows.items():
        mixed = tables if seed is None else shuffled(tables, seed)
        write_source(folder / name, mixed, row_group_size=40 if seed is None else 7)
    return [str(folder / name) for name in "abc"]


def tree(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    return folder, write_world(folder / "sources")


@pytest.fixture(scope="module")
def built(world):
    folder, places = world
    assert main(["--sources", *places, *OPTIONS, "--out", str(folder / "out")]) == 0
    return folder / "out"


def test_every_rule_holds(built):
    """`verify` finds nothing wrong, and leaves nothing unshown."""
    checks = verify_folder(built)
    assert [check.line() for check in checks if check.faults != []] == []
    assert len(checks) == 12


def test_copies_were_met_and_recorded(built):
    """The planted copies across sources are passed over, each with the page that it copies."""
    skips = [json.loads(line) for line in (built / "provenance/skipped.jsonl").open()]
    assert skips
    planted = {("b", str(3 * i), "a", str(5 * i)) for i in range(6)}
    across = {(s["source"], s["page_id"], *s["copy_of"]) for s in skips if s["source"] == "b"}
    assert across
    assert across <= planted
    manifest = json.loads((built / "manifest.json").read_bytes())
    assert manifest["near_duplicates"]["skipped"]["pages"] == len(
        {(s["source"], s["page_id"]) for s in skips}
    )
    assert manifest["near_duplicates"]["pages_without_text"] == {"a": 0, "b": 0, "c": 2}


def test_images_are_the_sources_bytes(built, world):
    """No image is encoded again."""
    corpus = pq.read_table(built / "corpus/test-00000-of-00001.parquet").to_pylist()
    for row in corpus:
        path = world[0] / "sources" / row["source_dataset"] / "corpus/test-00000-of-00001.parquet"
        source = {str(r["corpus_id"]): r["image"]["bytes"] for r in pq.read_table(path).to_pylist()}
        assert row["image"]["bytes"] == source[row["source_corpus_id"]]


def test_hub_library_reads_it(built):
    """`datasets` opens the three configs by the card alone, images as images."""
    import datasets

    corpus = datasets.load_dataset(str(built), "corpus", split="test", cache_dir=str(built) + ".hf")
    assert corpus[0]["image"].size == (64, 48)
    assert len(corpus) == 70


def test_same_bytes_for_any_row_order_and_in_steps(built, world, tmp_path):
    """Shuffled rows and row groups, and the three steps one by one, give the same folder."""
    places = write_world(tmp_path / "sources", seed=3)
    work, out = str(tmp_path / "w"), tmp_path / "out"
    assert main(["sample", "--sources", *places, *OPTIONS[2:4], "--work", work, "--quiet"]) == 0
    assert main(["mine", "--work", work, *OPTIONS[:2], "--quiet"]) == 0
    assert main(["assemble", "--work", work, *OPTIONS[4:], "--out", str(out)]) == 0
    assert tree(out) == tree(built)


def test_dry_run_writes_nothing(world, tmp_path, capsys):
    """--dry-run prints queries and quotas and leaves no file."""
    out = tmp_path / "out"
    assert main(["--sources", *world[1], *OPTIONS, "--out", str(out), "--dry-run"]) == 0
    assert list(tmp_path.iterdir()) == []
    assert "negatives" in capsys.readouterr().out


def edit(folder, part, change):
    """Rewrite one table of a built folder, and drop the manifest's list of files with it."""
    path = folder / part / "test-00000-of-00001.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


def swap_language(rows):
    languages = sorted({row["language"] for row in rows})
    for row in rows:
        if row["language"] == languages[0]:
            row["language"] = languages[1]


def copy_a_page(rows):
    negatives = [row for row in rows if not row["is_judged"]]
    negatives[0]["markdown"] = "before " + negatives[1]["markdown"].lower()


def move_negatives(rows):
    for row in [row for row in rows if not row["is_judged"] and row["source_dataset"] == "a"][:2]:
        row["source_dataset"], row["source_corpus_id"] = "b", f"x{row['source_corpus_id']}"


@pytest.mark.parametrize(
    ("part", "change", "rule"),
    [
        (
            "corpus",
            lambda rows: rows[0].update(is_judged=not rows[0]["is_judged"]),
            "is_judged marks",
        ),
        ("corpus", copy_a_page, "no negative copies"),
        ("corpus", move_negatives, "negatives are shared out"),
        (
            "corpus",
            lambda rows: rows[0].update(
                source_corpus_id=rows[1]["source_corpus_id"],
                source_dataset=rows[1]["source_dataset"],
            ),
            "rows lead back",
        ),
        (
            "corpus",
            lambda rows: [r.update(_id=f"{r['source_dataset']}-{r['_id']}") for r in rows],
            "ids tell neither",
        ),
        ("corpus", lambda rows: rows.pop(), "the tables are whole"),
        ("corpus", lambda rows: rows[3]["image"].update(bytes=b"no image"), "the tables are whole"),
        ("queries", swap_language, "languages are as even"),
        (
            "queries",
            lambda rows: [r.update(query_format="keyword") for r in rows],
            "query formats keep",
        ),
        (
            "queries",
            lambda rows: [r.update(source_query_group="0") for r in rows[:9]],
            "no two queries",
        ),
        ("qrels", lambda rows: rows[0].update(score=3), "grades are 1 or 2"),
        ("qrels", lambda rows: rows.pop(), "the counts are those"),
    ],
)
def test_every_broken_rule_is_found(built, tmp_path, capsys, part, change, rule):
    """A folder with one rule broken fails that rule, and `verify` exits with 1."""
    broken = tmp_path / "broken"
    shutil.copytree(built, broken)
    edit(broken, part, change)
    assert main(["verify", str(broken)]) == 1
    failed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAILED")]
    assert any(rule in line for line in failed)
    assert any("files are the manifest's" in line for line in failed)


def replay(world, published, tmp_path):
    options = ["--miner", "mteb/baseline-bm25s", "--quiet", "--work", str(tmp_path / "w")]
    return main(["replay", str(published), "--sources", *world[1], *options])


def test_replay_gives_the_same_pool(built, world, tmp_path, capsys):
    """From the published queries alone the same pages come out, and every count is compared."""
    assert replay(world, built, tmp_path) == 0
    out = capsys.readouterr().out
    table, unshown = out.split("The published counts of NanoViDoRe v3 are not shown by this run:")
    assert "DIFFERS" not in table
    assert table.count(" same") == 6 + 3
    assert unshown.count("not shown") == 6 + 8  # nobody ran it on the Hub's data


def test_replay_of_a_pool_of_all_candidates(world, tmp_path, capsys):
    """A dataset built with `--pool-size all` kept no quotas, and none are kept in its replay."""
    out = tmp_path / "all"
    options = [*OPTIONS, "--pool-size", "all", "--out", str(out)]
    assert main(["--sources", *world[1], *options]) == 0
    assert replay(world, out, tmp_path) == 0
    assert "DIFFERS" not in capsys.readouterr().out


def other_query(rows):
    """Ask for a query of another group of the same source."""
    groups = {row["source_query_group"] for row in rows if row["source_dataset"] == "a"}
    free = next(str(i) for i in range(12) if str(i) not in groups)
    row = next(row for row in rows if row["source_dataset"] == "a")
    row["source_query_id"] = free


def other_quota(rows):
    """Give a negative's place to another source."""
    row = next(row for row in rows if not row["is_judged"] and row["source_dataset"] == "a")
    taken = {r["source_corpus_id"] for r in rows if r["source_dataset"] == "c"}
    row["source_dataset"] = "c"
    row["source_corpus_id"] = next(str(i) for i in range(42) if str(i) not in taken)


def other_page(rows):
    """Put another page of the same source in a negative's place."""
    row = next(row for row in rows if not row["is_judged"])
    source = row["source_dataset"]
    taken = {r["source_corpus_id"] for r in rows if r["source_dataset"] == source}
    row["source_corpus_id"] = next(str(i) for i in range(40) if str(i) not in taken)


@pytest.mark.parametrize(
    ("part", "change", "line"),
    [
        ("corpus", other_page, "DIFFERS  1 pages only published"),
        (
            "qrels",
            lambda rows: rows[5].update(score=3 - rows[5]["score"]),
            "DIFFERS  1 qrels only published",
        ),
        ("queries", other_query, "DIFFERS"),
        ("corpus", other_quota, "negatives of a"),
        (
            "corpus",
            lambda rows: rows[0].update(is_judged=not rows[0]["is_judged"]),
            "judged pages only",
        ),
    ],
)
def test_replay_sees_any_change(built, world, tmp_path, capsys, part, change, line):
    """One other page, grade, query or quota: the replay fails and says what differs."""
    published = tmp_path / "published"
    shutil.copytree(built, published)
    edit(published, part, change)
    assert replay(world, published, tmp_path) == 1
    out = capsys.readouterr().out.split("The published counts")[0]
    assert line in out
    assert "DIFFERS" in out


def test_read_built_names_what_is_missing(tmp_path):
    """A folder that is no dataset: one message with every missing table."""
    with pytest.raises(UserError, match=r"(?s)corpus.*queries.*qrels"):
        read_built(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--queries-per-source", "50"], "a: 50 queries wanted, 12 distinct ones exist"),
        (["--queries-per-source", "a=3"], "--queries-per-source names a; the sources are a, b, c"),
        (["--queries-per-source", "many"], "expected a number, `all`, or NAME=N"),
        (["--pool-size", "5"], "--pool-size 5 is less than the"),
        (["--pool-size", "5", "--miner", "nobody/nothing"], "--pool-size 5 is less than the"),
        (["--pool-size", "5", "--dry-run"], "--pool-size 5 is less than the"),
        (["--pool-size", "\N{SUPERSCRIPT TWO}"], "expected a number or `all`"),
        (["--pool-size", "122"], "--top-k"),
        (["--pool-size", "9999"], "pages that there are; lower it, or take"),
        (["--name", "../other"], "--name ../other: use letters"),
        (["--work", "/dev/null/steps"], "/dev/null/steps/sample.json: cannot be written"),
        (["--miner", "nobody/nothing"], "mteb cannot find this model"),
        (["--top-k", "0"], "--top-k must be at least 1"),
    ],
)
def test_unusable_options(world, tmp_path, capsys, arguments, message):
    """Exit code 2, one message, no traceback, no dataset."""
    out = tmp_path / "out"
    assert main(["--sources", *world[1], *OPTIONS, *arguments, "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_file_is_no_place_for_a_dataset(world, tmp_path, capsys):
    """`--out` names a file: one line, before anything is read, and the file stays."""
    out = tmp_path / "out"
    out.write_text("mine")
    assert main(["--sources", *world[1], *OPTIONS, "--out", str(out)]) == 2
    assert "is a file" in capsys.readouterr().err
    assert out.read_text() == "mine"


@pytest.mark.parametrize("out", [".", "/"])
def test_a_place_without_a_name_is_refused(world, tmp_path, capsys, monkeypatch, out):
    """The folder one stands in cannot be renamed into place, even if it is empty."""
    monkeypatch.chdir(tmp_path)
    assert main(["--sources", *world[1], *OPTIONS, "--out", out]) == 2
    with pytest.raises(UserError, match="a name"), replacing_folder(Path(out)):
        pass
    assert "give the folder to make a name" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_steps_need_the_step_before(tmp_path, capsys):
    """`mine` without `sample`, `assemble` without `mine`: the message names the step."""
    assert main(["mine", "--work", str(tmp_path)]) == 2
    assert "run the step `sample` first" in capsys.readouterr().err


def test_changed_source_is_refused(tmp_path, capsys):
    """Queries sampled from other data are not mined."""
    places = write_world(tmp_path / "sources")
    work = str(tmp_path / "w")
    assert main(["sample", "--sources", *places, *OPTIONS[2:4], "--work", work, "--quiet"]) == 0
    rows = make_rows(0, n_pages=40)
    rows["corpus"][3]["markdown"] = "changed"
    write_source(tmp_path / "sources" / "a", rows)
    assert main(["mine", "--work", work, *OPTIONS[:2], "--quiet"]) == 2
    assert "The sources a are not what the queries were sampled from" in capsys.readouterr().err


def test_broken_candidates_are_mined_again(built, world, tmp_path):
    """A cut-off candidate file is seen and made again; the result is the same."""
    shutil.copytree(world[0] / "out.work", tmp_path / "out.work")
    path = tmp_path / "out.work/candidates/b.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    assert main(["--sources", *world[1], *OPTIONS, "--out", str(tmp_path / "out")]) == 0
    assert tree(tmp_path / "out") == tree(built)


def test_image_that_does_not_decode(tmp_path, capsys):
    """A page whose image is damaged is named, and no dataset is left behind."""
    places = write_world(tmp_path / "sources")
    rows = make_rows(0, n_pages=40)
    for row in rows["corpus"]:
        row["image"]["bytes"] = row["image"]["bytes"][:60]
    write_source(tmp_path / "sources" / "a", rows)
    assert main(["--sources", *places, *OPTIONS, "--out", str(tmp_path / "out")]) == 2
    assert "a, page" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_existing_dataset_is_not_replaced_unasked(built, world, capsys):
    """A second build into the same folder stops at once; --overwrite makes the same folder anew."""
    command = ["--sources", *world[1], *OPTIONS, "--out", str(built)]
    before = tree(built)
    assert main(command) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0
    assert tree(built) == before
