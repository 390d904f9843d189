"""Whole numbers that keep shares: largest remainder, and controlled rounding of a table."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import floor

import networkx as nx
import xxhash

Cell = tuple[str, str]

_TIE_COST = 1 << 20  # tie-break costs of cells lie below this
_STEP_COST = 1 << 40  # evenness of column totals outweighs every sum of tie-break costs


def seeded_rank(seed: int, *parts: str) -> int:
    """Return a 64-bit number that orders things the same way on every machine, for one seed."""
    return xxhash.xxh64_intdigest("\x1f".join(parts).encode(), seed=seed)


def apportion(weights: Mapping[str, int], total: int) -> dict[str, int]:
    """Split a total in proportion to weights by largest remainder, in exact arithmetic.

    Equal remainders go to the earlier name. No share exceeds its weight while the total does not
    exceed the sum of the weights.

    Raises:
        ValueError: The weights sum to zero while the total does not, or one is negative.
    """
    whole = sum(weights.values())
    if total < 0 or min(weights.values(), default=0) < 0 or (whole == 0 and total):
        raise ValueError(f"cannot split {total} by the weights {dict(weights)}")
    if not total:
        return dict.fromkeys(weights, 0)
    shares = {name: weight * total // whole for name, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda name: (-(weights[name] * total % whole), name))
    for name in by_remainder[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def round_table(
    expected: Mapping[Cell, Fraction],
    rows: Mapping[str, int],
    columns: Mapping[str, int] | None,
    *,
    rank: Callable[[Cell], int],
) -> dict[Cell, int]:
    """Round every cell of a table up or down so that all margins come out exactly.

    A transportation problem, solved exactly in integers by the network simplex method; `rank`
    breaks ties, so that the answer does not hang on the order of the input.

    Args:
        expected: The exact value of each cell, by (row, column); missing cells are zero.
        rows: The total of each row.
        columns: The total of each column, or None for totals as even as whole numbers allow.
        rank: A number for each cell; among equally good tables, low-ranked cells are rounded up.

    Returns:
        Each cell of `expected`, rounded down or up.

    Raises:
        ValueError: No such table exists.

    Source: Cox (1987), A constructive procedure for unbiased controlled rounding.
    """
    down = {cell: floor(value) for cell, value in expected.items()}
    graph = nx.MultiDiGraph()
    for row, total in sorted(rows.items()):
        left = total - sum(n for cell, n in down.items() if cell[0] == row)
        graph.add_node(("row", row), demand=-left)
    for cell in sorted(expected):
        if down[cell] != expected[cell]:
            cost = 1 + rank(cell) % (_TIE_COST - 1)
            graph.add_edge(("row", cell[0]), ("column", cell[1]), capacity=1, weight=cost)
    _close_columns(graph, down, rows, columns)
    try:
        _, flow = nx.network_simplex(graph)
    except nx.NetworkXUnfeasible:
        raise ValueError("no rounding of this table keeps its margins") from None
    return {
        cell: n + sum(flow.get(("row", cell[0]), {}).get(("column", cell[1]), {}).values())
        for cell, n in down.items()
    }


def _close_columns(
    graph: nx.MultiDiGraph,
    down: Mapping[Cell, int],
    rows: Mapping[str, int],
    columns: Mapping[str, int] | None,
) -> None:
    """Give each column its demand, or make every further unit in it dearer than the one before."""
    floors: dict[str, int] = defaultdict(int)
    for (_, column), n in down.items():
        floors[column] += n
    if columns is not None:
        for column, total in sorted(columns.items()):
            graph.add_node(("column", column), demand=total - floors[column])
        return
    graph.add_node("end", demand=sum(rows.values()) - sum(floors.values()))
    for column in sorted(floors):
        # One unit can come from each row: convex costs make the totals as even as they can be.
        for step in range(len(rows)):
            cost = (floors[column] + step) * _STEP_COST
            graph.add_edge(("column", column), "end", capacity=1, weight=cost)
