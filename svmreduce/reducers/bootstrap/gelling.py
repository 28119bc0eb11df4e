"""The gelling point: the sample size beyond which a larger sample hardly makes a better SVM."""

from __future__ import annotations

import math
from collections.abc import Callable

Curve = list[tuple[float, float]]
"""(proportion, accuracy) pairs, proportions ascending."""


def gelling_point(
    accuracy_at: Callable[[float], float], *, slope: float, step: float, cap: float = 0.1, least: float = 0.0
) -> tuple[float, Curve]:
    """Raise the proportion step by step until the accuracy gains less than ``slope`` times the step.

    Parameters
    ----------
    accuracy_at : callable
        Accuracy of a classifier trained on this proportion of the rows.
    slope : float
        The paper's α: what one more unit of proportion must bring in accuracy.
    step : float
        The paper's β; also the first proportion.
    cap : float
        The largest proportion, taken when the curve is still rising there.
    least : float
        Steps below this proportion are left out: there the samples would not differ.

    Returns
    -------
    proportion : float
    curve : list of (proportion, accuracy)
        As far as it was followed: one step beyond the gelling point, or to the cap.
    """
    curve: Curve = []
    proportion = min(round(step * max(1, math.ceil(least / step - 1e-9)), 12), cap)
    while True:
        curve.append((proportion, accuracy_at(proportion)))
        if len(curve) > 1 and _slope(*curve[-2:]) < slope:
            return curve[-2][0], curve
        if proportion >= cap:
            return proportion, curve
        following = round(proportion + step, 12)  # so that 0.1 + 0.2 is 0.3
        proportion = cap if following > cap * (1 - 1e-9) else following


def _slope(before: tuple[float, float], after: tuple[float, float]) -> float:
    return (after[1] - before[1]) / (after[0] - before[0])


def curve_text(curve: Curve) -> str:
    """``1 %: 0.912, 2 %: 0.934``"""
    return ", ".join(f"{100 * proportion:g} %: {accuracy:.4f}" for proportion, accuracy in curve)
