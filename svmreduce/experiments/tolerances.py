"""What a regression gate looks at, which way is worse, and how much worse is still allowed.

Counters, sizes and scores are free of timing noise: the same code on the same data gives the same numbers, so
their limits are tight. Time is judged only as a ratio to the baseline method of the same run, loosely, and
absolute seconds never.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from svmreduce.errors import InputError
from svmreduce.registry import nearest_name_error

TIME_RATIO = "time_ratio"


@dataclass(frozen=True)
class Tolerance:
    """A value may get worse by ``absolute``, or by the share ``relative`` of the old one, whichever is more."""

    absolute: float = 0.0
    relative: float = 0.0

    def allowed(self, old: float) -> float:
        return max(self.absolute, self.relative * abs(old))


@dataclass(frozen=True)
class Metric:
    """A judged number: where a record keeps it, and which way is better."""

    name: str
    section: str
    tolerance: Tolerance
    higher_is_better: bool = False

    def worsening(self, old: float, new: float) -> float:
        """By how much ``new`` is worse than ``old``; negative when it is better."""
        return old - new if self.higher_is_better else new - old

    def value(self, record: dict) -> float | None:
        value = (record.get(self.section) or {}).get(self.name)
        return value if isinstance(value, (int, float)) else None


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "scores", Tolerance(absolute=0.002), higher_is_better=True),
        Metric("errors", "scores", Tolerance(absolute=2, relative=0.05)),
        Metric("auc", "scores", Tolerance(absolute=0.002), higher_is_better=True),
        Metric("mse", "scores", Tolerance(relative=0.01)),
        Metric("mae", "scores", Tolerance(relative=0.01)),
        Metric("n_iter", "counters", Tolerance(relative=0.05)),
        Metric("kernel_evals", "counters", Tolerance(relative=0.05)),
        Metric("objective", "counters", Tolerance(relative=1e-3)),  # minimised, LIBSVM's sign
        Metric("residual_max", "counters", Tolerance(relative=0.05, absolute=1e-9)),
        Metric("kept_rows", "sizes", Tolerance(relative=0.02)),
        Metric("vectors", "sizes", Tolerance(relative=0.02)),
    )
}
DEFAULTS = {name: metric.tolerance for name, metric in METRICS.items()} | {
    TIME_RATIO: Tolerance(relative=2.0)  # three times the old ratio
}


def from_config(section: Mapping | None, where: str = "compare") -> dict[str, Tolerance]:
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
        tolerances[name] = Tolerance(**{key: float(value) for key, value in limits.items()})
    return tolerances


def from_flags(words: Iterable[str]) -> dict[str, Tolerance]:
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
    return {name: Tolerance(**pair) for name, pair in limits.items()}


def _is_limit(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
