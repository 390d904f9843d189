"""Late-interaction mining with a random ColQwen3.5: the real loading and encoding code."""

import argparse
import io
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from builders.vidore.candidates import rank_candidates
from builders.vidore.late import LateInteractionMiner
from builders.vidore.recipe import Recipe
from builders.vidore.shards import pack_shard, read_shard, write_shard
from builders.vidore.sources import read_source
from mteb_nano.errors import UserError
from tests.vidore.tiny_colqwen import save_tiny_colqwen
from tests.vidore.universe import make_rows, write_source

SIZES = [(64, 48), (120, 90), (48, 130), (128, 128), (90, 40)]


def page_image(i):
    """Return a page of one of several sizes, so that batches need padding."""
    noise = np.random.default_rng(i).integers(0, 255, (6, 8, 3), np.uint8)
    picture = Image.fromarray(noise).resize(SIZES[i % len(SIZES)], Image.Resampling.NEAREST)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def write_pages(folder, n_pages=14, seed=8):
    rows = make_rows(seed, n_pages=n_pages, n_groups=3)
    for row in rows["corpus"]:
        row["image"] = {"bytes": page_image(row["corpus_id"]), "path": None}
    return write_source(folder, rows)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = write_pages(tmp_path_factory.mktemp("late") / "made")
    return read_source("made", folder, origin="made")


def make_miner(model, folder, **changes):
    options: dict[str, Any] = {
        "batch_size": 4,
        "shard_pages": 256,
        "device": "cpu",
        "engine": "local",
    }
    options |= {"workers": None, "quiet": True} | changes
    tokens = options.pop("visual_tokens", None)
    recipe = Recipe(miner=str(model), visual_tokens=tokens)
    return LateInteractionMiner(recipe, folder, argparse.Namespace(**options))


QUERIES = [str(i) for i in range(18)]


@pytest.fixture(scope="module")
def scores(source, tiny_colqwen, tmp_path_factory):
    return make_miner(tiny_colqwen, tmp_path_factory.mktemp("e"), batch_size=1).score(
        source, QUERIES
    )


@pytest.mark.parametrize(("batch_size", "shard_pages"), [(4, 256), (14, 5), (3, 1), (2, 7)])
def test_batches_and_shards_do_not_change_the_result(
    source, tiny_colqwen, tmp_path, scores, batch_size, shard_pages
):
    """Padded batches, in shards of any size, give the same lists as one page at a time."""
    miner = make_miner(tiny_colqwen, tmp_path, batch_size=batch_size, shard_pages=shard_pages)
    found = miner.score(source, QUERIES)
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-4)
    lists = [
        {query: [page for page, _ in pages] for query, pages in ranked.items()}
        for ranked in (
            rank_candidates(source, QUERIES, matrix, top_k=200, miner="m")
            for matrix in (found, scores)
        )
    ]
    assert lists[0] == lists[1]


def test_scores_are_those_of_the_model_itself(source, tiny_colqwen, scores):
    """The model's own padded output, masked and scored in float64 by the definition."""
    from colpali_engine.models import ColQwen3_5, ColQwen3_5Processor

    model = ColQwen3_5.from_pretrained(tiny_colqwen).eval()
    processor = ColQwen3_5Processor.from_pretrained(tiny_colqwen)
    images = dict(source.images())
    with torch.inference_mode():
        for column in (0, 7, 13):
            picture = Image.open(io.BytesIO(images[str(column)]))
            page = model(**processor.process_images([picture]))[0].bfloat16().double()
            model.rope_deltas = None
            for row in (0, 17):
                text = source.queries[QUERIES[row]].text
                query = model(**processor.process_queries([text]))[0].bfloat16().double()
                expected = (query @ page.T).max(dim=1).values.sum()
                assert scores[row, column] == pytest.approx(float(expected), abs=1e-4)


def test_finished_shards_are_read_and_broken_ones_made_again(
    source, tiny_colqwen, tmp_path, scores, monkeypatch
):
    """A second run encodes nothing; a damaged, a cut and a missing shard are encoded again."""
    make_miner(tiny_colqwen, tmp_path, shard_pages=4).score(source, QUERIES)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    pages = sorted(path for path in before if path.name.startswith("pages"))
    assert len(pages) == 4

    again = make_miner(tiny_colqwen, tmp_path, shard_pages=4)
    with monkeypatch.context() as patch:
        patch.setattr(again, "_load", lambda: pytest.fail("the model was loaded"))
        again.score(source, QUERIES)

    damaged = bytearray(before[pages[0]])
    damaged[-5] ^= 16
    pages[0].write_bytes(damaged)
    pages[1].write_bytes(before[pages[1]][:-100])
    pages[2].unlink()
    found = make_miner(tiny_colqwen, tmp_path, shard_pages=4).score(source, QUERIES)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-4)


def test_shards_are_keyed_by_what_they_depend_on(source, tiny_colqwen, tmp_path):
    """Another visual-token cap or another model is another shard, never a stale one."""
    folder = tmp_path / "e"
    make_miner(tiny_colqwen, folder).score(source, QUERIES)
    n_all = len(list(folder.glob("pages-*")))
    capped = make_miner(tiny_colqwen, folder, visual_tokens=6)
    capped.score(source, QUERIES)
    shards = sorted(folder.glob("pages-*"))
    assert len(shards) == 2 * n_all
    sizes = sorted(
        len(tokens) for path in shards for tokens, _ in [read_shard(path, 14) or ([], [])]
    )
    assert sizes[0] < sizes[1]  # fewer tokens under the cap


def test_shard_file_round_trip(tmp_path):
    """Tokens and lengths come back in bfloat16; a wrong number of items is refused."""
    items = [torch.randn(n, 4) for n in (3, 1, 5)]
    write_shard(tmp_path / "s", pack_shard(items))
    found = read_shard(tmp_path / "s", 3)
    assert found is not None
    tokens, lengths = found
    assert lengths == [3, 1, 5]
    assert torch.equal(tokens, torch.cat(items).bfloat16())
    assert read_shard(tmp_path / "s", 2) is None
    assert read_shard(tmp_path / "absent", 3) is None


def test_nan_from_the_model_is_refused(source, tiny_colqwen, tmp_path, monkeypatch):
    """A model that gives NaN for a page: an error that names the page, not a ranking."""
    miner = make_miner(tiny_colqwen, tmp_path)
    encoder = miner._load()
    forward = encoder._model.forward

    def poisoned(**inputs):
        tokens = forward(**inputs)
        if "pixel_values" in inputs:
            tokens[:] = float("nan")
        return tokens

    monkeypatch.setattr(encoder._model, "forward", poisoned)
    found = miner.score(source, QUERIES)
    with pytest.raises(UserError, match="are not finite, first for query 0 and page 0"):
        rank_candidates(source, QUERIES, found, top_k=5, miner="tiny")


def test_image_that_does_not_decode(tiny_colqwen, tmp_path):
    """The page is named."""
    rows = make_rows(8, n_pages=5, n_groups=3)
    rows["corpus"][3]["image"] = {"bytes": b"not an image", "path": None}
    source = read_source("made", write_source(tmp_path / "made", rows), origin="made")
    with pytest.raises(UserError, match="made, page 3: the image does not decode"):
        make_miner(tiny_colqwen, tmp_path / "e").score(source, QUERIES)


@pytest.mark.slow
def test_command_with_ray_gives_the_same_bytes(tiny_colqwen, tmp_path, subprocess_env):
    """The real command, in one process and on two Ray workers: one and the same folder."""
    pytest.importorskip("ray", reason="needs ray")
    places = [str(write_pages(tmp_path / name, n, n)) for name, n in (("a", 14), ("b", 9))]
    manifests = []
    for engine in (["--engine", "local"], ["--engine", "ray", "--workers", "2"]):
        out = tmp_path / engine[1]
        command = [
            *(sys.executable, "-m", "builders.vidore", "--sources", *places),
            *("--miner", str(tiny_colqwen), "--queries-per-source", "all", "--pool-size", "16"),
            *("--name", "Made", "--quiet", "--shard-pages", "5", "--out", str(out), *engine),
        ]
        done = subprocess.run(
            command, env=subprocess_env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        # The first five pages of both sources are the same images: one shard serves both.
        assert len(list((tmp_path / f"{engine[1]}.work/embeddings").glob("pages-*"))) == 3 + 1
        manifests.append((out / "manifest.json").read_bytes())
    assert manifests[0] == manifests[1]
    about = json.loads(manifests[0])["recipe"]["miner"]
    assert about["model"] == "tiny-colqwen"  # the name of a folder, not where it lies
    assert about["revision"].startswith("local-")


def test_wider_model_runs_the_same_way(colpali_engine, source, tmp_path):
    """The larger random model of the GPU test loads and scores, at a size that a CPU bears."""
    save_tiny_colqwen(tmp_path / "model", width=2, layers=8)
    found = make_miner(tmp_path / "model", tmp_path / "e").score(source, QUERIES)
    assert np.isfinite(found).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_gpu_pages_per_second(colpali_engine, tmp_path, capsys):
    """A larger random model encodes on the GPU; the rate is printed, not judged."""
    save_tiny_colqwen(tmp_path / "model", width=32, layers=32)
    folder = write_pages(tmp_path / "made", n_pages=256)
    source = read_source("made", folder, origin="made")
    miner = make_miner(tmp_path / "model", tmp_path / "e", device="cuda", batch_size=32)
    miner._load()
    start = time.perf_counter()
    found = miner.score(source, QUERIES)
    with capsys.disabled():
        print(
            f"\n{256 / (time.perf_counter() - start):.0f} pages/s on {torch.cuda.get_device_name()}"
        )
    assert np.isfinite(found).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_gpu_ranks_like_the_cpu(source, tiny_colqwen, tmp_path, scores):
    """On a GPU, in bfloat16, the scores agree to bfloat16's precision."""
    found = make_miner(tiny_colqwen, tmp_path, device="cuda").score(source, QUERIES)
    np.testing.assert_allclose(found, scores, rtol=0.02, atol=0.5)


def test_default_miner_is_the_card_s_model_at_its_revision(tmp_path):
    """Without options the recipe's model is encoded by colpali-engine, at the pinned revision.

    mteb's registry knows the name, the loader and the same revision; nothing is downloaded.
    """
    from builders.vidore.miners import make_miner as choose_miner
    from builders.vidore.options import parse_options, recipe_of
    from builders.vidore.search import find_model

    options = parse_options(["build", "--out", str(tmp_path / "out")])
    miner = choose_miner(recipe_of(options), tmp_path, options)
    assert isinstance(miner, LateInteractionMiner)
    assert miner.about["model"] == "vultr/VultronRetrieverCore-Qwen3.5-4.5B"
    assert miner.about["revision"] == "461c7bc02d596932c76c12164596732dad9cf4f2"
    assert find_model(miner.about["model"], None).revision == miner.about["revision"]
