"""Plots of boards as SVG and PNG: every dot has its interval, the same input the same bytes."""

import contextlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from mteb_nano.errors import UserError
from mteb_nano.report.agreement import Agreement
from mteb_nano.report.boards import Board
from mteb_nano.report.estimates import Resampling, estimate
from mteb_nano.report.figures import COLORS, MARKERS, best, new_figure, plain, whiskers
from mteb_nano.report.plots_ocr import ErrorRates, plot_error_rates, plot_modes
from mteb_nano.report.tables import Standing, standings

_MAX_MODELS = len(COLORS)
_SHARPNESS_DPI = 160


def plot_board(
    board: Board, folder: Path, *, resampling: Resampling, error_rates: ErrorRates | None = None
) -> list[Path]:
    """Draw everything that a board's results allow and return the files.

    Args:
        error_rates: `cer` of the data's manifest; without it nothing is drawn against CER.

    Raises:
        UserError: A file cannot be written.
    """
    order = [s for s in standings(board, resampling=resampling) if s.mean]
    if not order:
        return []
    draws: dict[str, Callable[[], Figure | None]] = {
        "sources": lambda: _sources(board, order, resampling),
        "modes": lambda: plot_modes(board, order, resampling),
        "cer": lambda: plot_error_rates(board, order, resampling, error_rates),
        "seconds": lambda: _seconds(board, order),
    }
    stem = re.sub(r"[^\w.-]+", "_", f"{board.task}-{board.data_revision[:12]}")
    written = []
    for name, draw in draws.items():
        figure = draw()
        if figure is not None:
            written += save(figure, folder / f"{stem}-{name}")
    return written


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as SVG and PNG, each beside its place first.

    Raises:
        UserError: A file cannot be written.
    """
    written = []
    for suffix in ("svg", "png"):
        path = stem.with_name(f"{stem.name}.{suffix}")
        part = path.with_name(f".{path.name}.partial")
        # No date and fixed ids, so that the bytes depend on the figure only.
        metadata = {"Date": None} if suffix == "svg" else {"Software": None}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with mpl.rc_context({"svg.hashsalt": "mteb-nano", "svg.fonttype": "path"}):
                figure.savefig(part, format=suffix, metadata=metadata, dpi=_SHARPNESS_DPI)
            part.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise UserError(f"{path}: cannot be written: {error.strerror}") from None
        written.append(path)
    return written


def _sources(board: Board, order: Sequence[Standing], resampling: Resampling) -> Figure | None:
    if board.is_ocr:
        return None
    shown, title = best(order, f"{board.title}: nDCG@10 by source, 95% intervals", _MAX_MODELS)
    height = 1.5 + len(board.subsets) * (0.25 + 0.13 * len(shown))
    figure = new_figure(title, height=height)
    axes = figure.subplots()
    for i, s in enumerate(shown):
        values = [estimate(s.result, [name], resampling=resampling) for name in board.subsets]
        known = [value for value in values if value is not None]
        shift = 0.7 * ((i + 0.5) / len(shown) - 0.5)
        axes.errorbar(
            [100 * value.value for value in known],
            [row + shift for row in range(len(known))],
            xerr=whiskers(known),
            fmt=MARKERS[i],
            color=COLORS[i],
            label=plain(s.label),
            capsize=2,
            markersize=5,
        )
    axes.set_yticks(range(len(board.subsets)), [plain(name) for name in board.subsets])
    axes.invert_yaxis()
    axes.set_xlabel("nDCG@10 x 100")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure


def _seconds(board: Board, order: Sequence[Standing]) -> Figure | None:
    """Draw quality against evaluation time for the results that have one."""
    timed = [(s, s.result.seconds) for s in order if s.mean and s.result.seconds]
    if not timed:
        return None
    figure = new_figure(f"{board.title}: quality against seconds")
    axes = figure.subplots()
    means = [s.mean for s, _ in timed if s.mean]
    x = [seconds for _, seconds in timed]
    axes.errorbar(
        x,
        [100 * mean.value for mean in means],
        yerr=whiskers(means),
        fmt="o",
        color=COLORS[0],
        capsize=2,
    )
    # Names beyond the best ones would cover each other.
    for (s, seconds), mean in list(zip(timed, means, strict=True))[: 2 * _MAX_MODELS]:
        axes.annotate(
            plain(s.label, 24),
            (seconds, 100 * mean.value),
            xytext=(5, 5),
            textcoords="offset points",
            fontsize=8,
        )
    axes.set_xscale("log")
    axes.margins(x=0.25)
    axes.set_xlabel("evaluation time, seconds (as the result files say; machines may differ)")
    axes.set_ylabel("nDCG@10 x 100")
    axes.grid(alpha=0.3)
    return figure


def plot_agreement(agreement: Agreement, stem: Path) -> list[Path]:
    """Draw nano against full scores, one dot a model, own models marked; return the files."""
    figure = new_figure(
        "NanoViDoRe v3 and the full ViDoRe v3: mean nDCG@10 x 100", width=6, height=6
    )
    axes = figure.subplots()
    for i, (own, label) in enumerate(((False, "published"), (True, "your results"))):
        points = [p for p in agreement.points if p.own == own]
        if points:
            axes.plot(
                [100 * p.full for p in points],
                [100 * p.nano for p in points],
                MARKERS[i],
                color=COLORS[i],
                label=label,
            )
    scores = [100 * x for p in agreement.points for x in (p.nano, p.full)]
    ends = [min(scores) - 2, max(scores) + 2]
    axes.plot(ends, ends, color="gray", linestyle="--", linewidth=1, label="nano = full")
    axes.set_xlabel("full ViDoRe v3")
    axes.set_ylabel("NanoViDoRe v3")
    axes.set_aspect("equal")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    return save(figure, stem)
