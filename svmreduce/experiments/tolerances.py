"""What the regression gate judges, which direction is worse, and how much worse is still allowed.

Counters, sizes and scores are free of timing noise: the same code on the same data gives the same numbers, so
their limits are tight. Time is judged only as a ratio to the baseline method of the same run, and absolute seconds
never. The default limit of that ratio suits single fits and other processors; where fits are repeated, as in
configs/smoke.yaml, a limit of 41 % tells no change from twice the time with equal certainty (√2 is half-way).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from svmreduce.errors import InputError
from svmreduce.experiments.records import Record
from svmreduce.registry import nearest_name_error

TIME_RATIO = "time_ratio"


@dataclass(frozen=True)
class GateTolerance:
    """A value may get worse by ``absolute``, or by the share ``relative`` of the old one, whichever is more."""

    absolute: float = 0.0
    relative: float = 0.0

    def allowed(self, old: float) -> float:
        return max(self.absolute, self.relative * abs(old))

    def is_wider(self, other: GateTolerance) -> bool:
        """Whether it allows more than the other for some value."""
        return self.absolute > other.absolute or self.relative > other.relative


@dataclass(frozen=True)
class GateMetric:
    """A judged number: where a record keeps it, and which way is better."""

    name: str
    section: str
    tolerance: GateTolerance
    higher_is_better: bool = False
    either_way: bool = False  # no direction is better: any change is as bad

    def worsening(self, old: float, new: float) -> float:
        """By how much ``new`` is worse than ``old``; negative when it is better."""
        if self.either_way:
            return abs(new - old)
        return old - new if self.higher_is_better else new - old

    def value(self, record: Record) -> float | None:
        value = getattr(record, self.section).get(self.name)
        return value if isinstance(value, (int, float)) else None


GATE_METRICS = {
    metric.name: metric
    for metric in (
        GateMetric("accuracy", "scores", GateTolerance(absolute=0.002), higher_is_better=True),
        GateMetric("errors", "scores", GateTolerance(absolute=2, relative=0.05)),
        GateMetric("auc", "scores", GateTolerance(absolute=0.002), higher_is_better=True),
        GateMetric("mse", "scores", GateTolerance(relative=0.01)),
        GateMetric("mae", "scores", GateTolerance(relative=0.01)),
        GateMetric("n_iter", "counters", GateTolerance(relative=0.05)),
        GateMetric("kernel_evals", "counters", GateTolerance(relative=0.05)),
        GateMetric("objective", "counters", GateTolerance(relative=1e-3)),  # minimised, LIBSVM's sign
        GateMetric("residual_max", "counters", GateTolerance(relative=0.05, absolute=1e-9)),
        GateMetric("kept_rows", "sizes", GateTolerance(relative=0.02)),
        GateMetric("vectors", "sizes", GateTolerance(relative=0.02), either_way=True),
    )
}
DEFAULTS = {name: metric.tolerance for name, metric in GATE_METRICS.items()} | {
    TIME_RATIO: GateTolerance(relative=2.0)  # three times the old ratio
}


def from_config(section: Mapping | None, where: str = "compare") -> dict[str, GateTolerance]:
    """The ``compare:`` section of a config, ``{metric: {absolute: …, relative: …}}``, checked.

    A metric named here loses its default limits: what is not given for it is 0.
    """
    if not isinstance(section or {}, Mapping):
        raise InputError(f"{where}: takes {{metric: {{absolute: …, relative: …}}}}, got {section!r}")
    tolerances = {}
    for name, limits in (section or {}).items():
        if name not in DEFAULTS:
            raise nearest_name_error(f"metric in {where}", str(name), DEFAULTS)
        if not isinstance(limits, Mapping) or not limits:
            raise InputError(f"{where}.{name}: takes {{absolute: …, relative: …}}, got {limits!r}")
        for key, value in limits.items():
            if key not in ("absolute", "relative"):
                raise nearest_name_error(f"key in {where}.{name}", str(key), ("absolute", "relative"))
            if not _is_limit(value):
                raise InputError(f"{where}.{name}.{key}: must be a number of 0 or more, got {value!r}")
        tolerances[name] = GateTolerance(**{key: float(value) for key, value in limits.items()})
    return tolerances


def from_flags(words: Iterable[str]) -> dict[str, GateTolerance]:
    """``accuracy=0.001`` as an absolute limit, ``n_iter=5%`` as a relative one; a metric may have both."""
    limits: dict[str, dict[str, float]] = {}
    for word in words:
        name, _, text = word.partition("=")
        kind, number = ("relative", text[:-1]) if text.endswith("%") else ("absolute", text)
        try:
            value = float(number) / (100 if kind == "relative" else 1)
        except ValueError:
            value = math.nan
        if not _is_limit(value):
            raise InputError(f"--tolerance takes metric=number or metric=number%, of 0 or more, got {word!r}")
        if name not in DEFAULTS:
            raise nearest_name_error("metric in --tolerance", name, DEFAULTS)
        limits.setdefault(name, {})[kind] = value
    return {name: GateTolerance(**pair) for name, pair in limits.items()}


def _is_limit(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
