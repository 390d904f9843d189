"""Coordinates of the page's robustness charts: nDCG@10 by setting, a line with a band per mode."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mteb_nano.catalog import MODES
from mteb_nano.report.boards import Board
from mteb_nano.report.estimates import Resampling, estimate
from mteb_nano.report.records import dpi_of
from mteb_nano.report.statistics import Interval
from mteb_nano.report.tables import Standing, cells_of, distinct, standings

# Of the drawing, in its own units; page.html.j2 draws the frame around it.
_LEFT, _RIGHT, _TOP, _BOTTOM = 45, 235, 8, 148
_TICK_POINTS = (1, 2, 5, 10, 20, 50)


@dataclass(frozen=True)
class ModeLine:
    """One mode's line; `points` and `band` are SVG coordinate lists."""

    mode: str
    dots: tuple[tuple[float, float], ...]
    points: str
    band: str


@dataclass(frozen=True)
class RobustnessChart:
    """One model's chart."""

    model: str
    lines: tuple[ModeLine, ...]
    settings: tuple[dict[str, float | str], ...]
    ticks: tuple[dict[str, float | str], ...]


def robustness_charts(board: Board, *, limit: int, resampling: Resampling) -> list[RobustnessChart]:
    """Return the charts of the best models on one common scale; none for a page board."""
    if not board.is_ocr:
        return []
    settings = distinct(board, lambda cell: cell.setting)
    shown = standings(board, resampling=Resampling(n_resamples=0))[:limit]
    values = {
        s.label: {
            mode: [
                estimate(s.result, cells_of(board, setting=x, mode=mode), resampling=resampling)
                for x in settings
            ]
            for mode in MODES
        }
        for s in shown
    }
    low, high = _range([v for m in values.values() for found in m.values() for v in found if v])
    return [_chart(s, values[s.label], settings, (low, high)) for s in shown]


def _range(values: Sequence[Interval]) -> tuple[float, float]:
    ends = [end for v in values for end in (v.low, v.value, v.high) if end is not None]
    return (min(ends), max(ends)) if ends else (0.0, 1.0)


def _chart(
    standing: Standing,
    by_mode: dict[str, list[Interval | None]],
    settings: Sequence[str],
    ends: tuple[float, float],
) -> RobustnessChart:
    step = (_RIGHT - _LEFT) / max(1, len(settings) - 1)
    x = [round(_LEFT + step * i, 1) for i in range(len(settings))]
    lines = []
    for mode, found in by_mode.items():
        known = [(at, v) for at, v in zip(x, found, strict=True) if v is not None]
        if known:
            lines.append(_line(mode, known, ends))
    return RobustnessChart(
        model=standing.label,
        lines=tuple(lines),
        settings=tuple(_setting_labels(x, settings)),
        ticks=tuple(_ticks(ends)),
    )


def _setting_labels(
    x: Sequence[float], settings: Sequence[str]
) -> Iterator[dict[str, float | str]]:
    anchors = ["start", *["middle"] * (len(settings) - 2), "end"]
    for at, setting, anchor in zip(x, settings, anchors, strict=False):
        dpi = dpi_of(setting)
        yield {"x": at, "anchor": anchor, "text": f"{dpi} dpi" if dpi else setting}


def _line(
    mode: str, known: Sequence[tuple[float, Interval]], ends: tuple[float, float]
) -> ModeLine:
    dots = tuple((at, _y(v.value, ends)) for at, v in known)
    upper = [(at, _y(v.value if v.high is None else v.high, ends)) for at, v in known]
    lower = [(at, _y(v.value if v.low is None else v.low, ends)) for at, v in known]
    return ModeLine(mode, dots, _coordinates(dots), _coordinates([*upper, *reversed(lower)]))


def _coordinates(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


def _y(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    share = (value - low) / (high - low) if high > low else 0.5
    return round(_BOTTOM - share * (_BOTTOM - _TOP), 1)


def _ticks(ends: tuple[float, float]) -> list[dict[str, float | str]]:
    """Return three to six round values, in points, within the scale."""
    low, high = 100 * ends[0], 100 * ends[1]
    step = next((s for s in _TICK_POINTS if (high - low) / s <= 6), 50)  # noqa: PLR2004
    first = math.ceil(low / step) * step
    values = range(first, math.floor(high) + 1, step)
    return [{"y": _y(value / 100, ends), "text": str(value)} for value in values]
