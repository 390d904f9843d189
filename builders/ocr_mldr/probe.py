"""What a build would cost: counts, core-hours from a short timed try, disk."""

import time
from collections.abc import Iterable

from builders.ocr_mldr.build import Build
from builders.ocr_mldr.noise import sentence_noiser
from builders.ocr_mldr.recipes import Setting

PROBED = 12  # sentences per language and setting: a second of work
BYTES_PER_CHARACTER = 2.2  # of shard files and parquet together, clean and noisy, UTF-8


def estimate(build: Build) -> Iterable[str]:
    """Yield a line per language and setting, and the sums. The try takes about a second each."""
    total = 0.0
    n_sentences = n_characters = 0
    for lang, setting in build.cells:
        plan = build.plans[lang]
        seconds = _seconds_per_character(build, lang, setting) * plan.n_characters
        total += seconds
        n_sentences += plan.n_sentences
        n_characters += plan.n_characters
        yield (
            f"{lang} {setting.name}: {plan.n_texts('corpus'):,} documents, "
            f"{plan.n_texts('queries'):,} queries, {plan.n_sentences:,} distinct sentences, "
            f"{plan.n_characters:,} characters, {_time(seconds)} of one core"
        )
    workers = build.options.workers
    yield (
        f"in all {n_sentences:,} sentences, {n_characters:,} characters, {_time(total)} of one "
        f"core ({total / 3600:.2f} core-hours), about {_time(total / workers)} with {workers} "
        "worker(s), "
        f"{BYTES_PER_CHARACTER * n_characters / 1e6:,.0f} MB of disk"
    )


def _time(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004, two minutes
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"  # noqa: PLR2004


def _seconds_per_character(build: Build, lang: str, setting: Setting) -> float:
    plan = build.plans[lang]
    # Spread over the whole plan: documents differ, and so does the length of their sentences.
    step = max(1, plan.n_sentences // PROBED)
    tried = [s for i in range(0, plan.n_sentences, step) for s in plan.sentences(i, i + 1)]
    options = build.options
    noise = sentence_noiser(
        options.recipe,
        setting,
        lang,
        build.opened,
        on_missing_glyph=options.on_missing_glyph,
    )
    noise(tried[0])  # opening the language is not a cost of every sentence
    start = time.process_time()
    for sentence in tried:
        noise(sentence)
    return (time.process_time() - start) / max(1, sum(map(len, tried)))
