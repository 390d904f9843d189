"""Plots of OCR boards: quality against scan resolution and against character errors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mteb_nano.catalog import MODES
from mteb_nano.report.boards import Board
from mteb_nano.report.estimates import Resampling, estimate
from mteb_nano.report.figures import COLORS, DASHES, MARKERS, best, new_figure, plain
from mteb_nano.report.records import dpi_of, parse_cell
from mteb_nano.report.statistics import Interval
from mteb_nano.report.tables import Standing, cells_of, distinct

# language -> setting -> kind of text -> rate between 0 and 1, or an object that has it as `cer`
ErrorRates = Mapping[str, Mapping[str, Mapping[str, Any]]]

_MAX_PANELS = 6
# The text whose noise a mode suffers from; in mode `ocr` both are noisy, the corpus more so.
_NOISY_KIND = {"ocr": "corpus", "clean2ocr": "queries", "ocr2clean": "corpus"}


def plot_modes(board: Board, order: Sequence[Standing], resampling: Resampling) -> Figure | None:
    """Draw nDCG against DPI, a line with a band per mode and a panel per model."""
    if not board.is_ocr:
        return None
    settings = sorted(distinct(board, lambda cell: cell.setting), key=lambda s: (dpi_of(s) or 0, s))
    shown, title = best(order, f"{board.title}: nDCG@10 by scan quality and mode", _MAX_PANELS)
    figure = new_figure(title, width=max(7, 2 + 3 * len(shown)))
    for axes, s in _panels(figure, shown):
        for mode in MODES:
            found = [
                estimate(s.result, cells_of(board, setting=x, mode=mode), resampling=resampling)
                for x in settings
            ]
            points = [(x, v) for x, v in enumerate(found) if v is not None]
            _line_with_band(axes, points, mode, label=mode if s is shown[0] else None)
        names = [str(dpi_of(x)) if dpi_of(x) else x for x in settings]
        axes.set_xticks(range(len(settings)), [plain(name) for name in names])
        axes.set_xlabel("DPI" if all(map(dpi_of, settings)) else "setting")
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    return figure


def plot_error_rates(
    board: Board,
    order: Sequence[Standing],
    resampling: Resampling,
    rates: ErrorRates | None,
) -> Figure | None:
    """Draw nDCG against the CER of the noisy text.

    A line with a band per mode over the settings (mean over languages), a faint dot per language.
    """
    if not board.is_ocr or not rates:
        return None
    shown, title = best(order, f"{board.title}: nDCG@10 against character errors", _MAX_PANELS)
    figure = new_figure(title, width=max(7, 2 + 3 * len(shown)))
    n_points = 0
    for axes, s in _panels(figure, shown):
        for mode, kind in _NOISY_KIND.items():
            points = _points_by_rate(board, s, mode, rates=rates, resampling=resampling)
            n_points += len(points)
            label = f"{mode} ({kind} CER)" if s is shown[0] else None
            _line_with_band(axes, points, mode, label=label)
            _dots_by_rate(axes, board, s, mode, rates=rates)
        axes.set_xlabel("character error rate, %")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure if n_points else None


def error_rate(rates: ErrorRates, language: str, setting: str, kind: str) -> float | None:
    """Return a manifest's CER of one kind of text, between 0 and 1; None where it has none."""
    found: object = rates
    for key in (language, setting, kind, "cer"):
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return float(found) if isinstance(found, int | float) else None


def _points_by_rate(
    board: Board, standing: Standing, mode: str, *, rates: ErrorRates, resampling: Resampling
) -> list[tuple[float, Interval]]:
    points = []
    kind = _NOISY_KIND[mode]
    for setting in distinct(board, lambda cell: cell.setting):
        subsets = cells_of(board, setting=setting, mode=mode)
        cells = [cell for cell in map(parse_cell, subsets) if cell]
        found = [error_rate(rates, cell.language, setting, kind) for cell in cells]
        known = [rate for rate in found if rate is not None]
        value = estimate(standing.result, subsets, resampling=resampling)
        if value is not None and known and len(known) == len(found):
            points.append((100 * sum(known) / len(known), value))
    return sorted(points, key=lambda point: point[0])


def _dots_by_rate(
    axes: Axes, board: Board, standing: Standing, mode: str, *, rates: ErrorRates
) -> None:
    i, kind = list(MODES).index(mode), _NOISY_KIND[mode]
    for subset in cells_of(board, mode=mode):
        cell = parse_cell(subset)
        rate = error_rate(rates, cell.language, cell.setting, kind) if cell else None
        if rate is not None:
            value = 100 * standing.result.subsets[subset].scores["ndcg_at_10"]
            axes.plot(100 * rate, value, MARKERS[i], color=COLORS[i], alpha=0.35, markersize=4)


def _panels(figure: Figure, shown: Sequence[Standing]) -> Iterator[tuple[Axes, Standing]]:
    grid = figure.subplots(1, len(shown), sharey=True, squeeze=False)
    for axes, s in zip(grid[0], shown, strict=True):
        axes.set_title(plain(s.label, 40), fontsize=9)
        axes.grid(alpha=0.3)
        yield axes, s
    grid[0][0].set_ylabel("nDCG@10 x 100")


def _line_with_band(
    axes: Axes, points: Sequence[tuple[float, Interval]], mode: str, *, label: str | None
) -> None:
    i = list(MODES).index(mode)
    x = [x for x, _ in points]
    y = [100 * v.value for _, v in points]
    axes.plot(x, y, color=COLORS[i], linestyle=DASHES[i], marker=MARKERS[i], label=label)
    low = [100 * (v.value if v.low is None else v.low) for _, v in points]
    high = [100 * (v.value if v.high is None else v.high) for _, v in points]
    axes.fill_between(x, low, high, color=COLORS[i], alpha=0.15, linewidth=0)
