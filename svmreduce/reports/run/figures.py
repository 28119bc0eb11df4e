"""The figures themselves, drawn from panels and curves."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from matplotlib.figure import Figure

from svmreduce.experiments.panels import Panel, Spot
from svmreduce.papers.layouts import PrintedColumn
from svmreduce.reports import drawing
from svmreduce.reports.drawing import MUTED, Look, label_ends, label_points, new_figure, scale_axis, short_name
from svmreduce.reports.reproduction.verdicts import JudgedCell
from svmreduce.reports.run.curves import Curve, Sweep, slope
from svmreduce.reports.run.verdict import DatasetVerdict
from svmreduce.reports.run.wording import brief

Looks = dict[str, Look]
MOST_LINES = 16
MOST_NAMES = 9  # of methods in one figure
LEGEND_WIDTH = 64  # letters


def scatter(panel: Panel, looks: Looks, fact: str, title: str) -> Figure:
    """Score over a cost, one large mark per method; small ones for the rest of the grid, as far as it is near."""
    figure, axes = new_figure(panel.dataset)
    best = [spot for spot in panel.best if getattr(spot, fact) is not None]
    named = [spot for spot in best if not looks[spot.method].is_hollow]
    at = {spot: (getattr(spot, fact), _score(panel, spot)) for spots in panel.spots.values() for spot in spots}
    spread = {spot: _factor(panel) * (spot.error_spread or 0.0) for spot in named}
    low, high = min(at[spot][1] for spot in best), max(at[spot][1] for spot in best)
    least = 0.02 * abs(high) if panel.is_regression else 0.4
    room = max(0.35 * (high - low), 1.1 * max(spread.values(), default=0.0), least)
    others = [spot for spot, (x, y) in at.items() if not spot.is_best and x and low - room <= y <= high + room]
    _small(axes, [(spot.method, *at[spot]) for spot in others], looks, markersize=3.5, alpha=0.35)
    for spot in best:
        marks = looks[spot.method].marks
        axes.errorbar(*at[spot], spread.get(spot) or None, **marks, elinewidth=1, capsize=2, zorder=3)
    scale_axis(axes, "x", [at[spot][0] for spot in (*best, *others)], room=0.14)
    axes.set_ylim(low - room, high + room)
    axes.set_xlabel(title)
    axes.set_ylabel("mean squared error" if panel.is_regression else "accuracy (%)")
    figure.draw_without_rendering()
    whiskers = [((at[s][0], at[s][1] - wide), (at[s][0], at[s][1] + wide)) for s, wide in spread.items() if wide]
    around = drawing.boxes(axes, [at[spot] for spot in best]) + drawing.segments(axes, whiskers)
    around += drawing.boxes(axes, [at[spot] for spot in others], half=1.5)
    label_points(axes, [(*at[spot], short_name(spot.method)) for spot in named], around)
    return figure


def front(verdict: DatasetVerdict, looks: Looks) -> Figure:
    """Score over seconds, every method at its best point: the line of what nothing beats, and a ring around the choice.

    Methods that lose so much that their speed is no merit are not shown: they would only squeeze the others.
    """
    figure, axes = new_figure(verdict.dataset, height=3.0)
    shown = [one for one in verdict.all if not verdict.is_poor(one)] or verdict.all
    factor = 1 if verdict.is_regression else 100
    at = {one: (one.timed, factor * one.score) for one in shown}
    for one in shown:
        faint = {} if one.counts and not looks[one.label].is_hollow else {"alpha": 0.55}
        axes.plot(*at[one], **looks[one.label].marks | faint, zorder=3)
    corners = [at[one] for one in verdict.front if one in at]
    if corners:
        axes.step(*zip(*corners, strict=True), where="post", color=MUTED, linewidth=1.2, zorder=2)
    if verdict.recommended in at:
        ring = {"marker": "o", "markersize": 15, "markerfacecolor": "none", "markeredgewidth": 1.6}
        axes.plot(*at[verdict.recommended], color=drawing.PALETTE[2], **ring, zorder=4)
    scale_axis(axes, "x", [x for x, _ in at.values()], room=0.16)
    scores = [y for _, y in at.values()]
    middle, least = (max(scores) + min(scores)) / 2, 0.02 * max(scores) if verdict.is_regression else 0.2
    scale_axis(axes, "y", [*scores, middle - least / 2, middle + least / 2], room=0.14)
    axes.set_xlabel("reduction and training (s)")
    axes.set_ylabel("RMSE" if verdict.is_regression else "accuracy (%)")
    figure.draw_without_rendering()
    steps = [(a, (b[0], a[1])) for a, b in pairwise(corners)] + [((b[0], a[1]), b) for a, b in pairwise(corners)]
    around = drawing.boxes(axes, at.values()) + drawing.segments(axes, steps)
    around += drawing.boxes(axes, [at[one] for one in shown if one is verdict.recommended], half=9)
    named = [one for one in shown if not looks[one.label].is_hollow or one in verdict.front]
    if len(named) > MOST_NAMES:
        named = [one for one in named if one in verdict.front or one is verdict.reference][-MOST_NAMES:]
    label_points(axes, [(*at[one], drawing.cut(brief(one), 26)) for one in named], around)
    return figure


def growth(found: Sweep, looks: Looks) -> Figure:
    """Training time over rows, each line with the power it grows with."""
    figure, axes = new_figure(found.dataset)
    curves = [curve for curve in found.curves if not looks[curve.label].is_hollow]
    for curve in curves:
        axes.errorbar(curve.x, curve.y, _whiskers(curve.spread), **looks[curve.label].marks, elinewidth=0.8)
    scale_axis(axes, "x", [x for curve in curves for x in curve.x], is_log=True)
    scale_axis(axes, "y", [y for curve in curves for y in curve.y], is_log=True)
    axes.set_xlabel("training rows")
    axes.set_ylabel("reduction and training (s)")
    names = {curve.label: f"{short_name(curve.label)}  {drawing.power(slope(curve))}" for curve in curves}
    label_ends(axes, [(c.x[-1], c.y[-1], names[c.label], looks[c.label].colour) for c in curves])
    return figure


_MEASURES = {"accuracy": "accuracy (%)", "mse": "mean squared error", "training": "training (s)", "kept": "kept (%)"}


def sweep(found: Sweep, looks: Looks) -> Figure:
    """A score, a time or a share over a parameter: gelling and entropy curves, ε, C."""
    figure, axes = new_figure(found.dataset)
    factor = 100 if found.measure in ("accuracy", "kept") else 1
    for curve in found.curves:
        look = looks[curve.label]
        spread = _whiskers(factor * (value or 0.0) for value in curve.spread)
        line = {"linestyle": "--" if look.is_hollow else "-", "elinewidth": 0.8, "capsize": 2}
        axes.errorbar(curve.x, [factor * value for value in curve.y], spread, **look.marks, **line)
    scale_axis(axes, "x", [x for curve in found.curves for x in curve.x])
    scale_axis(axes, "y", [factor * value for curve in found.curves for value in curve.y], room=0.12)
    axes.set_xlabel(found.parameter)
    axes.set_ylabel(_MEASURES[found.measure])
    label_ends(axes, [(c.x[-1], factor * c.y[-1], short_name(c.label), looks[c.label].colour) for c in found.curves])
    return figure


def history(dataset: str, name: str, curves: list[Curve], looks: Looks) -> Figure:
    """What methods recorded while they ran, step by step."""
    figure, axes = new_figure(dataset)
    for curve in curves:
        axes.plot(curve.x, curve.y, color=looks[curve.label].colour)
    scale_axis(axes, "x", [x for curve in curves for x in curve.x])
    scale_axis(axes, "y", [y for curve in curves for y in curve.y])
    axes.set_xlabel("step")
    axes.set_ylabel(name.replace("_", " "))
    label_ends(axes, [(c.x[-1], c.y[-1], short_name(c.label), looks[c.label].colour) for c in curves])
    return figure


def speedups(rows: list[dict], looks: Looks) -> Figure:
    """What the reduction gains, and what only the engine does: overall speed-ups against both.

    One line per data set and method; where there are too many, one per data set and a legend.
    """
    names = [f"{drawing.cut(row['dataset'], 20)}, {short_name(row['method'])}" for row in rows]
    legend = {short_name(row["method"]) for row in rows} if len(rows) > MOST_LINES else None
    if legend:
        names = [drawing.cut(row["dataset"], 30) for row in rows]
    lines = list(dict.fromkeys(names))
    title = f"Overall speed-up of training, against {rows[0]['baseline']}"
    below = 0.22 * -(-len(legend) // _legend_columns(legend)) if legend else 0.0
    figure, axes = new_figure(title, 1.1 + 0.24 * len(lines) + below)
    for name, row in zip(names, rows, strict=True):
        place, look, same = lines.index(name), looks[row["method"]], row["ots_same_engine"]
        if same:
            axes.plot([same, row["ots"]], [place, place], color=look.colour, linewidth=1.2, alpha=0.5)
            axes.plot(same, place, **look.marks | {"markerfacecolor": "none"})
        axes.plot(row["ots"], place, **look.marks, linestyle="none", label=short_name(row["method"]))
    axes.axvline(1, color=MUTED, linewidth=1)
    values = [row[key] for row in rows for key in ("ots", "ots_same_engine") if row[key]]
    scale_axis(axes, "x", [0.9, 1.1, *values], room=0.08, is_log=True)
    _name_rows(axes, lines)
    axes.set_xlabel("times as fast, reduction included", loc="right")
    if legend:
        _legend(axes)
    return figure


def across(title: str, rows: list[dict], fact: str, axis: str, looks: Looks, factor: float = 1.0) -> Figure:
    """One fact of all methods, a line per data set."""
    lines = list(dict.fromkeys(row["dataset"] for row in rows))
    names = {short_name(row["method"]) for row in rows}
    figure, axes = new_figure(title, 1.2 + 0.3 * len(lines) + 0.22 * -(-len(names) // _legend_columns(names)))
    for row in rows:
        look = looks[row["method"]]
        place = lines.index(row["dataset"])
        axes.plot(factor * row[fact], place, **look.marks, linestyle="none", label=short_name(row["method"]))
    is_log = fact == "cts"
    values = [factor * row[fact] for row in rows]
    if is_log:
        axes.axvline(1, color=MUTED, linewidth=1)
        values += [0.9, 1.1]
    scale_axis(axes, "x", values, room=0.08, is_log=is_log)
    _name_rows(axes, [drawing.cut(name, 30) for name in lines])
    axes.set_xlabel(axis, loc="right")
    _legend(axes)
    return figure


def _legend(axes) -> None:
    """Each method once, below everything, in as many columns as there is room for."""
    marks = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    columns = _legend_columns(marks)
    style = {"handletextpad": 0.2, "columnspacing": 1.2, "ncols": columns}
    axes.figure.legend(marks.values(), marks.keys(), loc="outside lower left", **style)


def _legend_columns(names: Iterable[str]) -> int:
    return max(1, min(4, LEGEND_WIDTH // (5 + max(map(len, names)))))


def diagonal(column: PrintedColumn, cells: list[JudgedCell]) -> Figure:
    """Measured over printed; on the line both are the same."""
    figure, axes = new_figure(f"{column.title}, printed and measured")
    points = [(cell.printed, cell.measured if cell.judged is None else cell.judged) for cell in cells]
    for cell, point in zip(cells, points, strict=True):
        colour, marker = drawing.VERDICTS.get(cell.verdict, (MUTED, "o"))
        axes.plot(*point, **Look(colour, marker, is_hollow=cell.verdict not in drawing.VERDICTS).marks, zorder=3)
    values = [value for point in points for value in point]
    ends = min(values), max(values)
    axes.plot(ends, ends, color=MUTED, linewidth=1)
    scale_axis(axes, "x", values)
    scale_axis(axes, "y", values)
    axes.set_xlabel("printed")
    axes.set_ylabel("measured, against the same engine" if column.same_engine else "measured")
    return figure


def _small(axes, points: list[tuple[str, float, float]], looks: Looks, **style) -> None:
    """Faint marks at (method, x, y), all of a method at once."""
    for method in dict.fromkeys(method for method, *_ in points):
        own = [(x, y) for name, x, y in points if name == method]
        axes.plot(*zip(*own, strict=True), **looks[method].marks | style, linestyle="none", zorder=2)


def _name_rows(axes, names: list[str]) -> None:
    """Names instead of numbers on an upright axis, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.tick_params("y", length=0)


def _factor(panel: Panel) -> int:
    return 1 if panel.is_regression else 100


def _score(panel: Panel, spot: Spot) -> float:
    return spot.error if panel.is_regression else 100 * (1 - spot.error)


def _whiskers(spread: Iterable[float | None]) -> list[float] | None:
    known = [value or 0.0 for value in spread]
    return known if any(known) else None
