"""How much faster than the plain way, with the same text out; all sides take turns in one run.

    python -m benchmarks.ocr_speed TEXTS

Sides, each in a process of its own, each doing the same sentences in turns of a few:

- plain: what the original does. Three layout passes draw an RGB image, pytesseract writes a PNG and
  starts a `tesseract` process for it.
- ours, same library: our drawing, and the very libtesseract that the `tesseract` command uses, kept
  open. All ratios of the claim are between these two; their texts must be identical.
- ours: the same with tesserocr's own, newer libtesseract; what the builder runs.
- recognition alone: ready images into the engine of `ours`, nothing else timed.

CPU seconds of a process and its children, so that other load on the machine matters little.
"""

import argparse
import collections
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks.ocr_plain_way import SystemTesseract, plain_way
from builders.engine import Shard, run_shards
from builders.ocr_mldr.known_items import MAX_SENTENCE_CHARS, read_texts
from builders.ocr_mldr.models import Model, find_models
from builders.ocr_mldr.noise import image_maker
from builders.ocr_mldr.options import LANGUAGES, SETTINGS
from builders.ocr_mldr.recipes import Recipe, Setting, recipe_named
from builders.ocr_mldr.recognize import TesseractEngine
from builders.ocr_mldr.sentences import drawable, split_sentences
from builders.ocr_mldr.shards import EngineSpec, Job, recognize_shard
from mteb_nano.errors import UserError

SIDES = ("plain", "same", "ours", "alone")
TURN = 5  # sentences a side does before the next one does them


def cpu_seconds() -> float:
    """Return the CPU time of this process and its ended children."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def serve(side: str, models: dict[str, Model], recipe: Recipe, pipe: Connection) -> None:
    """Answer (setting, language, sentences) with (texts, CPU seconds), until None comes."""
    os.environ["OMP_THREAD_LIMIT"] = "1"
    engine = SystemTesseract(models, recipe) if side == "same" else TesseractEngine(models, recipe)
    while (asked := pipe.recv()) is not None:
        setting, lang, sentences = asked
        draw = image_maker(recipe, setting)
        engine.read(draw("."), lang)  # opening a language is not a cost of every sentence
        ready = [draw(s) for s in sentences] if side == "alone" else []
        start = cpu_seconds()
        if side == "plain":
            texts = [plain_way(s, recipe, setting, models[lang]) for s in sentences]
        elif side == "alone":
            texts = [engine.read(image, lang) for image in ready]
        else:
            texts = [engine.read(draw(s), lang) for s in sentences]
        pipe.send((texts, cpu_seconds() - start))


@dataclass
class Tally:
    """CPU seconds by setting and side, and how many texts agree with the plain way's."""

    seconds: dict[tuple[str, str], float] = field(
        default_factory=lambda: collections.defaultdict(float)
    )
    n: dict[str, int] = field(default_factory=lambda: collections.defaultdict(int))
    same: dict[tuple[str, str], int] = field(default_factory=lambda: collections.defaultdict(int))


def race(
    sentences: dict[tuple[str, str], list[str]],
    models: dict[str, Model],
    recipe: Recipe,
) -> Tally:
    """Let all sides take turns over the sentences of each setting and language."""
    spawn = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    for side in SIDES:
        pipes[side], other = spawn.Pipe()
        spawn.Process(target=serve, args=(side, models, recipe, other), daemon=True).start()
    tally = Tally()
    for (name, lang), mine in sentences.items():
        for start in range(0, len(mine), TURN):
            turn = (recipe.setting(name), lang, mine[start : start + TURN])
            _take_turns(turn, name, pipes, tally)
    for pipe in pipes.values():
        pipe.send(None)
    return tally


def _take_turns(
    turn: tuple[Setting, str, list[str]], name: str, pipes: dict[str, Connection], tally: Tally
) -> None:
    texts: dict[str, list[str]] = {}
    for side, pipe in pipes.items():  # one after the other: none disturbs another
        pipe.send(turn)
        texts[side], seconds = pipe.recv()
        tally.seconds[name, side] += seconds
    tally.n[name] += len(turn[2])
    for side in SIDES:
        agree = zip(texts[side], texts["plain"], strict=True)
        tally.same[name, side] += sum(a == b for a, b in agree)


def report(tally: Tally) -> Iterator[str]:
    """Yield the table and the sums."""
    yield "| setting | n | plain, ms | ours same lib, ms | ratio | identical | ours newer | share |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, n in tally.n.items():
        ms = {side: 1000 * tally.seconds[name, side] / n for side in SIDES}
        yield (
            f"| {name} | {n} | {ms['plain']:.0f} | {ms['same']:.1f} | "
            f"{ms['plain'] / ms['same']:.1f}x | {tally.same[name, 'same']}/{n} | "
            f"{ms['ours']:.1f} ms, {ms['plain'] / ms['ours']:.1f}x, "
            f"{tally.same[name, 'ours']}/{n} identical | {ms['alone'] / ms['ours']:.0%} |"
        )
    total = sum(tally.n.values())
    same = sum(tally.same[name, "same"] for name in tally.n)
    yield (
        f"same library: {same} of {total} texts identical to the plain way's; share: recognition "
        "alone of all our CPU time"
    )


def work_through(jobs: Sequence[Job]) -> None:
    """Do shards one after the other: the least that a process can do."""
    for job in jobs:
        recognize_shard(job)


def two_workers(jobs: Sequence[Job], folder: Path, rounds: int) -> Iterator[str]:
    """Compare a pool of two with two processes that share nothing.

    Each round does all of it, every other round backwards, and the median round counts. Other load
    still moves wall time; CPU time tells what the pool itself costs.
    """
    ways: dict[str, Callable[[Path], None]] = {
        "one": lambda _: _run_all([jobs]),
        "two processes": lambda _: _run_all([jobs[::2], jobs[1::2]]),
        "pool of two": lambda empty: _run_pool(jobs, empty),
    }
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in list(ways)[:: -1 if number % 2 else 1]:
            start = (time.monotonic(), cpu_seconds())
            ways[name](folder / f"{number}")
            seconds[name].append((time.monotonic() - start[0], cpu_seconds() - start[1]))
    one, two, pool = (np.array(seconds[name]) for name in ways)
    wall, cpu = np.median(two / pool, axis=0)
    gains = [float(np.median(one[:, 0] / way[:, 0])) for way in (two, pool)]
    shares = ", ".join(f"{share:.0%}" for share in sorted(two[:, 0] / pool[:, 0]))
    yield (
        f"{rounds} rounds, medians: two processes gain {gains[0]:.2f}x wall time here, our pool "
        f"{gains[1]:.2f}x, which is {wall:.0%} of that (rounds: {shares})"
    )
    yield f"CPU seconds: two processes take {cpu:.0%} of what our pool takes"


def _run_pool(jobs: Sequence[Job], folder: Path) -> None:
    shards = (Shard(f"{number:08d}", job) for number, job in enumerate(jobs))
    for _ in run_shards(recognize_shard, shards, folder, workers=2):
        pass
    for process in multiprocessing.active_children():
        process.join()  # only an ended child's CPU time is known


def _run_all(parts: Sequence[Sequence[Job]]) -> None:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=work_through, args=(part,)) for part in parts]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


def draw_sentences(folder: Path, lang: str, n: int, *, seed: str = "") -> list[str]:
    """Return `n` seeded sentences of a language's texts."""
    found = dict.fromkeys(
        sentence
        for _, text in read_texts(folder, lang)
        for sentence in split_sentences(drawable(text), lang, max_chars=MAX_SENTENCE_CHARS)
    )
    chooser = random.Random(f"{lang} {seed}")
    return chooser.sample(list(found), min(n, len(found)))


def main() -> int:
    """Run the benchmark."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("texts", type=Path)
    p.add_argument("--langs", nargs="+", default=list(LANGUAGES))
    p.add_argument("--settings", nargs="+", default=list(SETTINGS))
    p.add_argument("--recipe", default="published")
    p.add_argument("--tessdata", type=Path)
    p.add_argument("--sentences", type=int, default=70, help="a language, in each setting")
    p.add_argument("--shards", type=int, default=24, help="of 16 sentences, for the two workers")
    p.add_argument("--rounds", type=int, default=5, help="of the comparison of two workers")
    args = p.parse_args()
    recipe = recipe_named(args.recipe)
    try:
        models = find_models(args.langs, recipe, folder=args.tessdata)
        sentences = {
            (name, lang): draw_sentences(args.texts, lang, args.sentences, seed=name)
            for name in args.settings
            for lang in args.langs
        }
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"recipe {recipe.name}; the tesseract command and `same library`: ", end="")
    print(f"{SystemTesseract(models, recipe).version()}; ours: ", end="")
    print(TesseractEngine(models, recipe).describe()["tesseract"], flush=True)
    for line in report(race(sentences, models, recipe)):
        print(line, flush=True)
    if args.shards:
        lang = args.langs[0]
        mine = draw_sentences(args.texts, lang, 16 * args.shards)
        spec = EngineSpec(recipe, tuple(models.items()))
        size = recipe.setting(SETTINGS[0])
        jobs = [
            Job(spec, size, lang, "error", tuple(mine[i : i + 16])) for i in range(0, len(mine), 16)
        ]
        with tempfile.TemporaryDirectory() as folder:
            for line in two_workers(jobs, Path(folder), args.rounds):
                print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
