"""The papers' figures from records: speed-ups, accuracy and what it cost, one row per data set and method.

ETS, OTS, ECS, CTS and RMSE compare a method with a baseline, cell by cell. Besides the papers' baseline there is the
same engine without the reduction (what the reduction itself gains) and the same engine on a random sample (what any
smaller training set gains). A cell that failed or is missing leaves the figures but not the counts: every row says how
many cells there are, how many of them failed and how, and over how many each figure is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from statistics import fmean

from svmreduce.experiments.method_results import GridCell, MethodComparison, MethodResults, Place, Point, find_rivals
from svmreduce.experiments.ordering import point_key
from svmreduce.experiments.records import FINISHED, NOT_CONVERGED

MetricValue = tuple[float | None, int]
"""A value, and over how many cells, pairs of cells or folds it is; (None, 0) where there is nothing to compute."""

NOTHING: MetricValue = (None, 0)


@dataclass(frozen=True)
class SummaryMetric:
    """A label, a direction, how it is written, and the function that computes it."""

    key: str
    label: str
    better: str  # "higher" or "lower"
    digits: int
    compute: Callable[[MethodComparison], MetricValue]
    factor: float = 1.0  # fractions are stored, percent are shown

    def show(self, value: float | None) -> str:
        return "–" if value is None else f"{round(value * self.factor, self.digits) + 0.0:.{self.digits}f}"


def expected_speedup(own: MethodResults, other: MethodResults | None, fact: str) -> MetricValue:
    """ETS and ECS: mean of other/own over the cells that both have.

    A cell where either side is 0 (a time below the clock's resolution, a model without vectors) has no ratio and is
    not counted.
    """
    sides = ((getattr(theirs, fact), getattr(ours, fact)) for theirs, ours in _pairs(own, other))
    return _mean([theirs / ours for theirs, ours in sides if theirs and ours])


def overall_speedup(own: MethodResults, other: MethodResults | None) -> MetricValue:
    """OTS: the time of the whole grid search, each reduction counted once, over the cells that both have.

    Only the reductions that these cells use count. A reduction without a recorded time leaves no figure: leaving
    it out would flatter the method.
    """
    pairs = [pair for pair in _pairs(own, other) if None not in (pair[0].solve, pair[1].solve)]
    theirs, ours = (_training_seconds(side) for side in zip(*pairs, strict=True)) if pairs else (None, None)
    return (theirs / ours, len(pairs)) if theirs and ours else NOTHING


def best_point_speedup(own: MethodResults, other: MethodResults | None, splits: frozenset) -> MetricValue:
    """CTS: support vectors summed over the folds, each method at its own most accurate grid point.

    A point takes part only with all folds, because a sum over fewer would look faster.
    """
    sums = []
    for method in (other, own):
        point, scores = best_point(method) if method else (None, [])
        vectors = [method.done[Place(point, split)].vectors for split in splits] if len(scores) == len(splits) else []
        sums.append(math.fsum(vectors) if vectors and None not in vectors else None)
    return (sums[0] / sums[1], len(splits)) if sums[0] and sums[1] else NOTHING


def accuracy_rmse(own: MethodResults, other: MethodResults | None) -> MetricValue:
    """RMSE: root mean squared difference of accuracy over the cells that both have."""
    sides = [(theirs.accuracy, ours.accuracy) for theirs, ours in _pairs(own, other)]
    value, count = _mean([(theirs - ours) ** 2 for theirs, ours in sides if None not in (theirs, ours)])
    return (math.sqrt(value), count) if count else NOTHING


def mean_of(own: MethodResults, fact: str) -> MetricValue:
    """Mean over all cells with a result."""
    return _mean(_known(own.done.values(), fact))


def best_score(own: MethodResults, fact: str) -> MetricValue:
    """The fold mean at the best grid point, among the points with the most folds."""
    if own.task != ("regression" if fact == "mse" else "classification"):
        return NOTHING
    return _mean(best_point(own)[1])


def chosen_score(own: MethodResults, fact: str) -> MetricValue:
    """The mean over folds and seeds, each at the grid point that cross-validation on its training rows chose."""
    if own.task != ("regression" if fact == "mse" else "classification"):
        return NOTHING
    cells = (own.done.get(Place(point, split)) for split, point in own.chosen.items())
    return _mean(_known((cell for cell in cells if cell), fact))


def accuracy_deviation(own: MethodResults) -> MetricValue:
    """Standard deviation over grid points of the fold means, about the mean of all cells."""
    centre, count = mean_of(own, "accuracy")
    if not count:
        return NOTHING
    spread = fmean((fmean(scores) - centre) ** 2 for scores in _scores_by_point(own, "accuracy").values())
    return math.sqrt(spread), count


def total_of(own: MethodResults, fact: str) -> MetricValue:
    """Sum over all cells with a result."""
    values = _known(own.done.values(), fact)
    return (math.fsum(values), len(values)) if values else NOTHING


def reduction_seconds(own: MethodResults) -> MetricValue:
    """TX*: the time of all reductions behind the results, each counted once however many fits share it."""
    times = _reduction_times(own.done.values())
    return (math.fsum(times), len(times)) if own.done and None not in times else NOTHING


def kept_percent(own: MethodResults) -> MetricValue:
    """Rows that the solver saw, in percent of the training rows, as a mean over the fits."""
    share, count = mean_of(own, "kept_share")
    return (100 * share, count) if count else NOTHING


def mean_at_own_cells(own: MethodResults, other: MethodResults | None, fact: str) -> MetricValue:
    """The other's mean over the cells that both have."""
    return _mean(_known((theirs for theirs, _ in _pairs(own, other)), fact))


def primal_excess(own: MethodResults, exact: MethodResults | None) -> MetricValue:
    """How far the primal objective over all training rows is above that of the same problem solved on all of them."""
    if exact is None or not own.shares_problem(exact):
        return NOTHING
    sides = [(theirs.primal, ours.primal) for theirs, ours in _pairs(own, exact)]
    return _mean([ours / theirs - 1 for theirs, ours in sides if theirs and ours is not None])


def _against(
    suffix: str, words: str, pick: Callable[[MethodComparison], MethodResults | None]
) -> tuple[SummaryMetric, ...]:
    """The five figures that need something to compare with."""
    return (
        SummaryMetric(f"ets{suffix}", f"ETS{words}", "higher", 2, lambda c: expected_speedup(c.own, pick(c), "solve")),
        SummaryMetric(f"ots{suffix}", f"OTS{words}", "higher", 2, lambda c: overall_speedup(c.own, pick(c))),
        SummaryMetric(
            f"ecs{suffix}", f"ECS{words}", "higher", 2, lambda c: expected_speedup(c.own, pick(c), "vectors")
        ),
        SummaryMetric(
            f"cts{suffix}", f"CTS{words}", "higher", 2, lambda c: best_point_speedup(c.own, pick(c), c.splits)
        ),
        SummaryMetric(f"rmse{suffix}", f"RMSE (%){words}", "lower", 2, lambda c: accuracy_rmse(c.own, pick(c)), 100),
    )


METRICS: dict[str, SummaryMetric] = {
    metric.key: metric
    for metric in (
        *_against("", "", lambda c: c.baseline),
        *_against("_same_engine", ", same engine", lambda c: c.same_engine),
        SummaryMetric("max_accuracy", "max. acc. (%)", "higher", 2, lambda c: best_score(c.own, "accuracy"), 100),
        SummaryMetric(
            "chosen_accuracy", "chosen acc. (%)", "higher", 2, lambda c: chosen_score(c.own, "accuracy"), 100
        ),
        SummaryMetric("mean_accuracy", "mean acc. (%)", "higher", 2, lambda c: mean_of(c.own, "accuracy"), 100),
        SummaryMetric("std_accuracy", "std. acc. (%)", "lower", 2, lambda c: accuracy_deviation(c.own), 100),
        SummaryMetric(
            "random_sample_accuracy",
            "random acc. (%)",
            "higher",
            2,
            lambda c: mean_at_own_cells(c.own, c.random_sample, "accuracy"),
            100,
        ),
        SummaryMetric("auc", "AUC", "higher", 4, lambda c: mean_of(c.own, "auc")),
        SummaryMetric("mse", "MSE", "lower", 4, lambda c: mean_of(c.own, "mse")),
        SummaryMetric("best_mse", "best MSE", "lower", 4, lambda c: best_score(c.own, "mse")),
        SummaryMetric("chosen_mse", "chosen MSE", "lower", 4, lambda c: chosen_score(c.own, "mse")),
        SummaryMetric(
            "random_sample_mse",
            "random MSE",
            "lower",
            4,
            lambda c: mean_at_own_cells(c.own, c.random_sample, "mse"),
        ),
        SummaryMetric(
            "primal_excess",
            "primal (+%)",
            "lower",
            2,
            lambda c: primal_excess(c.own, c.same_engine or c.baseline),
            100,
        ),
        SummaryMetric("kept_percent", "kept (%)", "lower", 1, lambda c: kept_percent(c.own)),
        SummaryMetric("vectors", "vectors", "lower", 0, lambda c: mean_of(c.own, "vectors")),
        SummaryMetric("train_seconds", "training (s)", "lower", 3, lambda c: total_of(c.own, "solve")),
        SummaryMetric("reduce_seconds", "reduction (s)", "lower", 3, lambda c: reduction_seconds(c.own)),
        SummaryMetric("predict_seconds", "prediction (s)", "lower", 3, lambda c: total_of(c.own, "predict")),
    )
}


def summarise(datasets: dict[str, dict[str, MethodResults]]) -> list[dict]:
    """One dict of figures per data set and method, ready for a data frame.

    Parameters
    ----------
    datasets : dict of dict of MethodResults
        Methods by data set and label, as `collect` makes them from the records of a run.

    Returns
    -------
    list of dict
        Data sets in the order of the records; in each the baseline first, then by label. Every metric of
        ``METRICS`` under its key (None: not defined here), and in addition:

        - ``cells``: grid points × folds × seeds that any method with the same grid has seen; ``done``: those with
          a result here; ``failed``: the others by status, ``missing`` being those without a record.
        - ``pairs``: cells with a result both here and for the baseline; ``baseline_failed``: why the rest of
          ``done`` has no partner.
        - ``not_converged``: cells of ``done`` with a fit that stopped early; ``failed_repeats``: repeats that
          failed in cells of ``done``, by status.
        - ``counted``: over how many cells, pairs, folds (CTS, best scores) or reductions each metric is.
        - ``baseline``: its label, though this data set may lack it; ``same_engine``, ``random_sample``: labels of
          what else it was compared with, None where absent.
    """
    rows = []
    for dataset, methods in datasets.items():
        found = [{"dataset": dataset} | _row(method, methods) for method in methods.values()]
        rows += sorted(found, key=lambda row: (row["method"] != row["baseline"], row["method"]))
    return rows


def _row(own: MethodResults, methods: dict[str, MethodResults]) -> dict:
    comparison = find_rivals(own, methods)
    places = _grid(own, methods, comparison.splits)
    figures = {key: metric.compute(comparison) for key, metric in METRICS.items()}
    return {
        "method": own.label,
        "task": own.task,
        "solver": own.solver,
        "reducer": own.reducer,
        "baseline": own.baseline,
        "same_engine": comparison.same_engine and comparison.same_engine.label,
        "random_sample": comparison.random_sample and comparison.random_sample.label,
        "cells": len(places),
        "done": len(own.done),
        "pairs": len(_pairs(own, comparison.baseline)),
        "failed": _failures(own, places),
        "baseline_failed": _failures(comparison.baseline, own.done) if own.baseline else {},
        "not_converged": sum(cell.status == NOT_CONVERGED for cell in own.done.values()),
        "failed_repeats": _counts(status for cell in own.done.values() for status in cell.failed_repeats),
        **{key: value for key, (value, _) in figures.items()},
        "counted": {key: count for key, (_, count) in figures.items()},
    }


def _grid(own: MethodResults, methods: dict[str, MethodResults], splits: Iterable) -> set[Place]:
    """Every cell that ``own`` should have: the points of all methods with the same grid, on all splits."""
    seen = {place.point for method in methods.values() for place in method.cells}
    varied = {_names(place.point) for place in own.cells}
    return {Place(point, split) for point in seen if _names(point) in varied for split in splits}


def _failures(method: MethodResults | None, places: Iterable[Place]) -> dict[str, int]:
    """How often each failure occurs at these places; a place without a record counts as ``missing``."""
    cells = method.cells if method else {}
    statuses = (cells[place].status if place in cells else "missing" for place in places)
    return _counts(status for status in statuses if status not in FINISHED)


def _counts(statuses: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(statuses).items()))


def _pairs(own: MethodResults, other: MethodResults | None) -> list[tuple[GridCell, GridCell]]:
    """(theirs, ours) where both have a result."""
    theirs = other.done if other else {}
    return [(theirs[place], cell) for place, cell in own.done.items() if place in theirs]


def _training_seconds(cells: Collection[GridCell]) -> float | None:
    times = [cell.solve for cell in cells] + _reduction_times(cells)
    return None if None in times else math.fsum(times)


def _reduction_times(cells: Collection[GridCell]) -> list[float | None]:
    """Shared reductions once each; what a solver spent reducing by itself, every time it did."""
    shared = {cell.reduction for cell in cells if cell.reduction}
    return [reduction.seconds for reduction in shared] + [cell.reduce for cell in cells if cell.reduce]


def _scores_by_point(method: MethodResults, fact: str) -> dict[Point, list[float]]:
    scores: dict[Point, list[float]] = {}
    for place, cell in method.done.items():
        value = getattr(cell, fact)
        if value is not None:
            scores.setdefault(place.point, []).append(value)
    return scores


def best_point(method: MethodResults) -> tuple[Point | None, list[float]]:
    """The best grid point and its scores, among the points with the most folds.

    Ties go to the smallest parameters: the order of the records is shuffled and would make the choice a matter of luck.
    """
    fact, sign = ("mse", -1) if method.task == "regression" else ("accuracy", 1)
    scores = _scores_by_point(method, fact)
    most = max(map(len, scores.values()), default=0)
    candidates = sorted((point for point, values in scores.items() if len(values) == most), key=point_key)
    best = max(candidates, key=lambda point: sign * fmean(scores[point]), default=None)
    return best, scores.get(best, [])


def _names(point: Point) -> tuple[str, ...]:
    return tuple(name for name, _ in point)


def _known(cells: Iterable[GridCell], fact: str) -> list[float]:
    return [value for cell in cells if (value := getattr(cell, fact)) is not None]


def _mean(values: list[float]) -> MetricValue:
    return (fmean(values), len(values)) if values else NOTHING
