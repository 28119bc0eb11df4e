"""How every figure looks: sizes for a phone, colours that everyone can tell apart, labels next to what they name.

Colours are Okabe and Ito's, and each method has a marker of its own as well. A random control has the colour of the
method it controls, and is hollow. Inside the page the colours become CSS variables, so that figures follow light and
dark; files get the plain colours on white.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from svmreduce.experiments.records import controlled_label
from svmreduce.printable import printable

INK, MUTED, GRID = "#1b1f24", "#646d76", "#dfe3e8"
VERDICTS = {
    "reproduced": ("#009e73", "o"),
    "same direction": ("#0072b2", "D"),
    "other direction": ("#e69f00", "v"),
    "contradicted": ("#d55e00", "X"),
}
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b2f", "#7a5cc7")
MARKERS = "osD^vPX*<>hp"
STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.6,
    "lines.markersize": 6.5,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a name with dollar signs is not a formula
}
WIDTH = 4.6  # inches: at 72 px to the inch it fits a phone unscaled
LOG_BEYOND = 15  # a range wider than this factor is shown on a logarithmic axis


@dataclass(frozen=True)
class Look:
    """Colour and marker of a method, the same in all figures of a run."""

    colour: str
    marker: str
    is_hollow: bool = False

    @property
    def marks(self) -> dict:
        face = "none" if self.is_hollow else self.colour
        return {"color": self.colour, "marker": self.marker, "markerfacecolor": face, "markeredgewidth": 1.4}


def looks(labels: Iterable[str], baseline: str | None) -> dict[str, Look]:
    """The baseline in ink, every other method in the next colour, a control like its method but hollow."""
    found: dict[str, Look] = {}
    for label in sorted(labels, key=lambda label: controlled_label(label) is not None):
        controlled = controlled_label(label)
        method = label if controlled is None else controlled
        if method not in found:
            number = sum(not look.is_hollow and look.colour != INK for look in found.values())
            is_base = method == baseline
            colour = INK if is_base else PALETTE[number % len(PALETTE)]
            found[method] = Look(colour, MARKERS[0 if is_base else 1 + number % (len(MARKERS) - 1)])
        if controlled is not None:
            found[label] = Look(found[method].colour, found[method].marker, is_hollow=True)
    return found


def new_figure(title: str, height: float = 3.3) -> tuple[Figure, Axes]:
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasAgg(figure)  # measures text; no display is needed
        figure.suptitle(cut(title, 56), x=0.012, ha="left", fontsize=10, fontweight="bold")
        axes = figure.add_subplot()
    return figure, axes


def is_wide(values: Iterable[float]) -> bool:
    """Do these positive values span too much for a straight axis?"""
    known = [value for value in values if value is not None]
    return bool(known) and min(known) > 0 and max(known) / min(known) > LOG_BEYOND


def scale_axis(axes: Axes, which: str, values: Iterable[float], room: float = 0.06, is_log: bool = False) -> None:
    """A logarithmic axis where the range demands it, with plain numbers on it, and room at both ends."""
    values = [value for value in values if value is not None and math.isfinite(value)]
    axis = {"x": axes.xaxis, "y": axes.yaxis}[which]
    low, high = min(values), max(values)
    if (is_log and low > 0) or is_wide(values):
        getattr(axes, f"set_{which}scale")("log")
        steps = (1.0, 2.0, 5.0) if high / low < 60 else (1.0,)
        axis.set_major_locator(LogLocator(subs=steps, numticks=12))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        factor = (high / low) ** room
        limits = low / factor, high * factor
    else:
        axis.set_major_locator(MaxNLocator(5, integer=all(float(value).is_integer() for value in values)))
        span = (high - low) or abs(high) or 1.0
        limits = low - room * span, high + room * span
    getattr(axes, f"set_{which}lim")(*limits)


def short(value: float) -> str:
    """A number for an axis or a bar: few digits, k and M for thousands and millions."""
    if value == 0:
        return "0"
    for least, divisor, letter in ((1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / divisor:.3g}{letter}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.0e}"


def power(value: float) -> str:
    """``1.8`` as n¹·⁸."""
    return "n" + f"{value:.1f}".translate(str.maketrans("0123456789.-", "⁰¹²³⁴⁵⁶⁷⁸⁹·⁻"))


def short_name(label: str) -> str:
    """A method's label in a figure: the control by what it is, the usual parameters by their letters."""
    controlled = controlled_label(label)
    text = label if controlled is None else f"random, as {controlled}"
    return cut(text.replace("epsilon=", "ε=").replace("gamma=", "γ="), 34)


def cut(text: str, most: int) -> str:
    """A name that leaves room for the figure, on one line."""
    text = " ".join(printable(text).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in pixels."""


def label_points(axes: Axes, points: list[tuple[float, float, str]], around: Iterable[Box] = ()) -> None:
    """Write each (x, y, text) next to its point, where it covers as little as possible of what is drawn already.

    A text that finds no free place next to its point moves away, with a thin line back.
    """
    renderer = axes.figure.canvas.get_renderer()
    frame = tuple(axes.get_window_extent(renderer).extents)
    taken = list(around)
    for x, y, text in sorted(points, key=lambda point: -point[1]):
        best = None
        for far, dx, dy, across, upright in _PLACES:
            arrow = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.6, "shrinkB": 4} if far > 1 else None
            made = axes.annotate(
                text, (x, y), (far * dx, far * dy), textcoords="offset points", ha=across, va=upright, fontsize=9,
                arrowprops=arrow, zorder=5,
            )  # fmt: skip
            box = _text_box(made, renderer)
            cost = sum(_overlap(box, other) for other in taken) + 30 * _outside(box, frame) + far
            if best is not None and cost >= best[0]:
                made.remove()
                continue
            if best is not None:
                best[1].remove()
            best = cost, made, box
            if cost <= far:
                break
        taken.append(best[2])


_PLACES = [
    (far, dx, dy, across, upright)
    for far in (1, 2.6, 4.4, 6.2)
    for dx, dy, across, upright in (
        (7, 0, "left", "center"), (-7, 0, "right", "center"), (0, 7, "center", "bottom"), (0, -7, "center", "top"),
        (5, 5, "left", "bottom"), (-5, 5, "right", "bottom"), (5, -5, "left", "top"), (-5, -5, "right", "top"),
    )
]  # fmt: skip


def label_ends(axes: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Write each (x, y, text, colour) at the right edge, pushed apart where lines end close together."""
    axes.figure.draw_without_rendering()
    unit = axes.figure.dpi / 72
    heights = [axes.transData.transform((x, y))[1] / unit for x, y, *_ in ends]
    right = axes.transData.transform((axes.get_xlim()[1], 0))[0] / unit
    order = sorted(range(len(ends)), key=heights.__getitem__)
    for place, wanted in zip(order, _apart([heights[place] for place in order], 11.5), strict=True):
        x, y, text, colour = ends[place]
        offset = right - axes.transData.transform((x, y))[0] / unit + 12, wanted - heights[place]
        axes.annotate(
            text, (x, y), offset, textcoords="offset points", va="center", fontsize=9,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 4},
        )  # fmt: skip


def _apart(heights: list[float], gap: float) -> list[float]:
    """Ascending heights, moved as little as needed to be ``gap`` apart: neighbours that touch share their middle."""
    groups: list[list[float]] = []  # [middle, size]
    for height in heights:
        groups.append([height, 1])
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < gap * (groups[-1][1] + groups[-2][1]) / 2:
            (middle, size), (other, more) = groups.pop(), groups.pop()
            groups.append([(middle * size + other * more) / (size + more), size + more])
    return [middle + gap * (number - (size - 1) / 2) for middle, size in groups for number in range(int(size))]


def boxes(axes: Axes, points: Iterable[tuple[float, float]], half: float = 4.0) -> list[Box]:
    """The room that marks take."""
    unit = half * axes.figure.dpi / 72
    spots = [axes.transData.transform(point) for point in points]
    return [(x - unit, y - unit, x + unit, y + unit) for x, y in spots]


def segments(axes: Axes, lines: Iterable[tuple[tuple[float, float], tuple[float, float]]]) -> list[Box]:
    """The room that upright and level lines take."""
    found = [[axes.transData.transform(end) for end in line] for line in lines]
    return [(min(a, c) - 1, min(b, d) - 1, max(a, c) + 1, max(b, d) + 1) for (a, b), (c, d) in found]


def _text_box(made, renderer) -> Box:
    made.update_positions(renderer)
    left, bottom, right, top = Text.get_window_extent(made, renderer).extents  # without the line back
    return left - 3, bottom, right + 3, top


def _overlap(one, other) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _outside(box, frame) -> float:
    return sum(max(0.0, over) for over in (frame[0] - box[0], box[2] - frame[2], frame[1] - box[1], box[3] - frame[3]))


@contextmanager
def any_script():
    """No warnings about characters that the font lacks: the reader sees them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        yield


def save(figure: Figure, path: Path) -> None:
    """SVG, PDF or PNG by the suffix; the same numbers make the same bytes."""
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix, {})
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": path.stem, "svg.fonttype": "path"}), any_script():
        figure.savefig(path, metadata=dates, dpi=200, facecolor="white")
