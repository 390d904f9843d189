"""What all plots share: colours, names as plain text, whiskers."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from mteb_nano.report.statistics import Interval
from mteb_nano.report.tables import Standing

# Okabe & Ito's colours can be told apart with any colour vision; markers and dashes repeat it.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A8A00")
MARKERS = "os^Dv<>P"
DASHES = ("-", "--", "-.", ":")


def new_figure(title: str, *, width: float = 8, height: float = 4.5) -> Figure:
    """Return an empty figure; it belongs to no window and no global state."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(plain(title, 110), fontsize=10)
    return figure


def plain(text: str, limit: int = 60) -> str:
    """Return text that matplotlib draws as it is: a dollar sign would start a formula."""
    short = text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return short.replace("$", r"\$")


def whiskers(values: Sequence[Interval]) -> list[list[float]]:
    """Return distances below and above each value, in points; 0 where there is no interval."""
    below = [0 if v.low is None else max(0.0, 100 * (v.value - v.low)) for v in values]
    above = [0 if v.high is None else max(0.0, 100 * (v.high - v.value)) for v in values]
    return [below, above]


def best(order: Sequence[Standing], title: str, limit: int) -> tuple[Sequence[Standing], str]:
    """Return the first models, and a title that says so when there are more."""
    rest = f" (best {limit} of {len(order)} models)" if len(order) > limit else ""
    return order[:limit], title + rest
