"""mteb `Benchmark` objects, for `mteb run -b`."""

from collections.abc import Callable, Sequence
from typing import Any

from mteb.benchmarks.benchmark import (
    Benchmark,
    BenchmarkAggregation,
    CustomGroup,
    CustomGrouping,
)

from mteb_nano.catalog import MODES, NANO_VIDORE_V3, OCR_MLDR
from mteb_nano.nano_vidore_v3 import NanoViDoReV3
from mteb_nano.ocr_mldr import OCRMLDR


def benchmarks() -> tuple[Benchmark, ...]:
    """Return `NanoViDoRe(v3)` and `OCR-MLDR`."""
    return _nano_vidore(), _ocr_mldr()


def _nano_vidore() -> Benchmark:
    task = NanoViDoReV3()
    return Benchmark(
        name="NanoViDoRe(v3)",
        display_name="NanoViDoRe v3",
        tasks=[task],
        description=NanoViDoReV3.metadata.description,
        reference=NanoViDoReV3.metadata.reference,
        citation=NanoViDoReV3.metadata.bibtex_citation,
        aggregations=(
            BenchmarkAggregation.MEAN_TASK,
            _grouping("Source", NanoViDoReV3, NANO_VIDORE_V3.sources, lambda subset: subset),
        ),
    )


def _ocr_mldr() -> Benchmark:
    def part(index: int) -> Callable[[str], str]:
        # `{lang}_{dpi}_{font}_{mode}`: the setting is the two in the middle.
        return lambda subset: (
            "_".join(subset.split("_")[1:3]) if index == 1 else subset.split("_")[index]
        )

    return Benchmark(
        name="OCR-MLDR",
        display_name="OCR-MLDR",
        tasks=[OCRMLDR()],
        description=OCRMLDR.metadata.description,
        reference=OCRMLDR.metadata.reference,
        citation=OCRMLDR.metadata.bibtex_citation,
        language_view="all",
        aggregations=(
            BenchmarkAggregation.MEAN_TASK,
            _grouping("Mode", OCRMLDR, tuple(MODES), part(-1)),
            _grouping("Setting", OCRMLDR, OCR_MLDR.settings, part(1)),
            _grouping("Language", OCRMLDR, OCR_MLDR.languages, part(0)),
        ),
    )


def _grouping(
    name: str, task: type[Any], labels: Sequence[str], label_of: Callable[[str], str]
) -> CustomGrouping:
    groups = []
    for label in labels:
        scoped = task()
        scoped.hf_subsets = [s for s in scoped.metadata.hf_subsets if label_of(s) == label]
        groups.append(CustomGroup(label=label, tasks=[scoped]))
    return CustomGrouping(name=name, groups=tuple(groups))
