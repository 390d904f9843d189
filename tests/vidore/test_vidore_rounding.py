"""Largest remainder and controlled rounding."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.vidore.recipe import PUBLISHED_COUNTS, PUBLISHED_SOURCES
from builders.vidore.rounding import apportion, round_table, seeded_rank


def test_published_quotas_come_out():
    """2,218 slots over the real corpus sizes give the card's 604 (industrial) ... 128 (hr)."""
    sizes = {name: source.pages for name, source in PUBLISHED_SOURCES.items()}

    quotas = apportion(sizes, PUBLISHED_COUNTS["negatives"])

    assert quotas == {
        "computer_science": 157,
        "energy": 256,
        "finance_en": 339,
        "finance_fr": 275,
        "hr": 128,
        "industrial": 604,
        "pharmaceuticals": 266,
        "physics": 193,
    }
    assert {n: s.negatives for n, s in PUBLISHED_SOURCES.items()} == quotas


def test_largest_remainder_by_hand():
    """Shares 1.4, 1.4, 4.2 of 7: the spare seat goes to a, the first of the equal remainders."""
    assert apportion({"b": 2, "a": 2, "c": 6}, 7) == {"a": 2, "b": 1, "c": 4}


@given(
    st.dictionaries(st.text(min_size=1), st.integers(0, 10**6), min_size=1), st.integers(0, 10**4)
)
def test_apportion_stays_within_one_of_the_exact_share(weights, total):
    """Shares sum to the total, and none is further than one from its exact value."""
    whole = sum(weights.values())
    if not whole:
        with pytest.raises(ValueError, match="cannot split") if total else _nothing():
            assert sum(apportion(weights, total).values()) == 0
        return
    shares = apportion(weights, total)
    assert sum(shares.values()) == total
    assert all(abs(n - Fraction(weights[name] * total, whole)) < 1 for name, n in shares.items())
    if total <= whole:
        assert all(n <= weights[name] for name, n in shares.items())


def _nothing():
    import contextlib

    return contextlib.nullcontext()


tables = st.integers(1, 3).flatmap(
    lambda n_rows: st.integers(1, 3).flatmap(
        lambda n_columns: st.lists(
            st.lists(st.integers(0, 12), min_size=n_columns, max_size=n_columns),
            min_size=n_rows,
            max_size=n_rows,
        )
    )
)


@given(tables, st.integers(2, 5))
def test_margins_are_kept_and_cells_are_rounded(counts, divisor):
    """Every cell is its value rounded down or up, and whole margins come out exactly.

    The margins are those of a brute-force search over all roundings: a table exists exactly when
    the search finds one.
    """
    expected = {
        (f"r{i}", f"c{j}"): Fraction(n, divisor)
        for i, row in enumerate(counts)
        for j, n in enumerate(row)
    }
    options = [sorted({int(v), int(v) + (v != int(v))}) for v in expected.values()]
    first = [choice[-1] for choice in options]  # one rounding; its margins are feasible
    rows, columns = _margins(expected, first)

    table = round_table(expected, rows, columns, rank=lambda cell: seeded_rank(1, *cell))

    assert _margins(expected, table.values()) == (rows, columns)
    assert all(abs(table[cell] - value) < 1 for cell, value in expected.items())


def _margins(cells, values):
    rows, columns = {}, {}
    for (row, column), n in zip(cells, values, strict=True):
        rows[row] = rows.get(row, 0) + n
        columns[column] = columns.get(column, 0) + n
    return rows, columns


@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=3),
    st.integers(2, 4),
    st.randoms(use_true_random=False),
)
def test_columns_are_as_even_as_any_rounding_makes_them(totals, n_columns, random):
    """Without given columns, no rounding has column totals with a smaller sum of squares.

    Rows may lack columns, as a source may lack a language.
    """
    expected = {}
    for i, total in enumerate(totals):
        chosen = random.sample(range(n_columns), random.randint(1, n_columns))
        for j in chosen:
            expected[f"r{i}", f"c{j}"] = Fraction(total, len(chosen))
    rows = {f"r{i}": total for i, total in enumerate(totals)}

    table = round_table(expected, rows, None, rank=lambda cell: seeded_rank(2, *cell))

    options = [sorted({int(v), int(v) + (v != int(v))}) for v in expected.values()]
    squares = [
        sum(n * n for n in columns.values())
        for values in product(*options)
        for found, columns in [_margins(expected, values)]
        if found == rows
    ]
    assert sum(n * n for n in _margins(expected, table.values())[1].values()) == min(squares)


def test_impossible_margins_are_refused():
    """Margins that no rounding has are an error, not a near miss."""
    cells = {("r", "a"): Fraction(1, 2), ("r", "b"): Fraction(1, 2)}
    with pytest.raises(ValueError, match="no rounding"):
        round_table(cells, {"r": 1}, {"a": 1, "b": 1}, rank=lambda _: 0)
