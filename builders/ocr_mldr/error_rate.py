"""The character error rate, defined once."""

from collections.abc import Iterable

from rapidfuzz.distance import Levenshtein


def character_error_rate(clean: str, noisy: str) -> float:
    """Return edit distance / length of the clean text, in [0, inf); not capped at 1.

    The distance counts insertions, deletions and substitutions of Unicode characters. An empty
    clean text has rate 0 when nothing was read, and otherwise the number of characters read.
    """
    return edit_distance(clean, noisy) / max(1, len(clean))


def edit_distance(clean: str, noisy: str) -> int:
    """Return the Levenshtein distance in characters."""
    # The hint only orders the search: most texts here are within a fifth of their length.
    return Levenshtein.distance(clean, noisy, score_hint=max(64, len(clean) // 5))


def squeeze(text: str) -> str:
    """Return the text with each run of whitespace as one space, for the normalised rate."""
    return " ".join(text.split())


def mean_error_rate(pairs: Iterable[tuple[str, str]]) -> float:
    """Return the mean over documents of the character error rate of (clean, noisy) pairs."""
    rates = [character_error_rate(clean, noisy) for clean, noisy in pairs]
    return sum(rates) / len(rates)
