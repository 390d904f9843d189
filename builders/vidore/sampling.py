"""Choose the queries: languages even, formats in proportion, never two translations of one."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from builders.vidore.groups import Group
from builders.vidore.rounding import apportion, round_table, seeded_rank
from mteb_nano.errors import UserError


@dataclass(frozen=True, order=True)
class Pick:
    """One sampled query: which group of translations it stands for, and in which language."""

    source: str
    query_id: str
    group: str
    language: str
    query_format: str


def sample_queries(
    universe: Mapping[str, Sequence[Group]], sizes: Mapping[str, int], *, seed: int
) -> list[Pick]:
    """Return the sampled queries, sorted, the same for any order of the input.

    Within each source every language gets its even share rounded up or down, every format its
    share of the source's queries by largest remainder, and every format in every language its
    proportional share rounded up or down; over all sources the languages are as even as whole
    numbers allow.

    Args:
        universe: The groups of translations of each source; a group has all the source's languages.
        sizes: How many queries to take from each source.
        seed: Which of the equally good samples.

    Raises:
        UserError: A source has fewer groups than its size.
    """
    short = [
        f"{name}: {sizes[name]} queries wanted, {len(universe[name])} distinct ones exist"
        for name in sorted(sizes)
        if not 0 < sizes[name] <= len(universe[name])
    ]
    if short:
        raise UserError("Lower --queries-per-source:\n  " + "\n  ".join(short))
    languages = _languages_by_source(universe, sizes, seed)
    picks: list[Pick] = []
    for name in sorted(universe):
        picks += _sample_source(name, universe[name], sizes[name], languages[name], seed)
    return sorted(picks)


def _languages_by_source(
    universe: Mapping[str, Sequence[Group]], sizes: Mapping[str, int], seed: int
) -> dict[str, dict[str, int]]:
    """Return how many queries of each language each source gives."""
    expected: dict[tuple[str, str], Fraction] = {}
    for name in sorted(universe):
        spoken = sorted(universe[name][0].query_ids)
        for language in spoken:
            expected[name, language] = Fraction(sizes[name], len(spoken))
    table = round_table(
        expected, sizes, None, rank=lambda cell: seeded_rank(seed, "language", *cell)
    )
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for (name, language), n in table.items():
        counts[name][language] = n
    return counts


def _sample_source(
    name: str, groups: Sequence[Group], size: int, languages: Mapping[str, int], seed: int
) -> list[Pick]:
    """Return the picks of one source, given how many queries each language has."""
    by_format: dict[str, list[Group]] = defaultdict(list)
    for group in sorted(groups, key=lambda g: (seeded_rank(seed, "group", name, g.key), g.key)):
        by_format[group.query_format].append(group)
    formats = apportion({form: len(members) for form, members in by_format.items()}, size)
    expected = {
        (language, form): Fraction(n * formats[form], size)
        for language, n in languages.items()
        for form in formats
    }
    table = round_table(
        expected, languages, formats, rank=lambda cell: seeded_rank(seed, "format", name, *cell)
    )
    picks = []
    for form in sorted(formats):
        slots = [lang for lang in sorted(languages) for _ in range(table[lang, form])]
        ranks = [seeded_rank(seed, "slot", name, form, str(i)) for i in range(len(slots))]
        shuffled = [slots[i] for i in sorted(range(len(slots)), key=ranks.__getitem__)]
        picks += [
            Pick(name, group.query_ids[language], group.key, language, form)
            for group, language in zip(by_format[form][: formats[form]], shuffled, strict=True)
        ]
    return picks


def count_picks(picks: Sequence[Pick]) -> dict[str, dict[str, dict[str, int]]]:
    """Return source -> "language" or "query_format" -> value -> number of picks."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for pick in sorted(picks):
        source = counts.setdefault(pick.source, {"language": Counter(), "query_format": Counter()})
        source["language"][pick.language] += 1
        source["query_format"][pick.query_format] += 1
    return {
        name: {kind: dict(sorted(n.items())) for kind, n in kinds.items()}
        for name, kinds in counts.items()
    }
