"""How each printed table is laid out: which figure is measured for a column, and how near is near enough.

A table is a list of rows. Some columns name the row (data set, method, ε …), the others are figures. What a figure's
direction is depends on what it says:

- ``side``: on which side of a neutral value it lies (a speed-up of 1, a loss of one point),
- ``baseline``: above, below or level with the same column of the paper's baseline,
- ``trend``: up or down from the neighbouring row, along a parameter,
- ``none``: a number without a direction.

Whether a column depends on the machine is stated with the printed table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class PrintedTolerance:
    """How far a measured figure may lie from the printed one and still count as reproduced."""

    absolute: float = 0.0
    relative: float = 0.0  # share of the printed value; the larger of the two counts
    at_most: float = math.inf
    rounding: float = 0.0  # half a unit of the last printed digit, on top

    def allowed(self, printed: float) -> float:
        return min(max(self.absolute, self.relative * abs(printed)), self.at_most) + self.rounding

    def covers(self, printed: float, measured: float) -> bool:
        slack = 1e-9 * max(abs(printed), abs(measured))  # 0.3 − 0.2 is slightly more than 0.1
        return abs(measured - printed) <= self.allowed(printed) + slack

    def __str__(self) -> str:
        parts = [f"±{self.absolute:g}"] if self.absolute else []
        parts += [f"±{100 * self.relative:g} %"] if self.relative else []
        most = f", at most {self.at_most:g}" if math.isfinite(self.at_most) else ""
        return " or ".join(parts) + most


@dataclass(frozen=True)
class PrintedColumn:
    """A printed column of numbers."""

    field: str  # in the printed rows
    title: str
    measure: str  # the measured figure
    tolerance: PrintedTolerance
    direction: str = "none"
    neutral: float = 1.0  # "side": the value between the sides
    level: float = 0.0  # differences up to this have no direction
    factor: float = 1.0  # measured × factor is in the printed unit
    digits: int = 1
    over_grid: bool = False  # a mean or the best over grid points: another grid gives another figure
    same_engine: str = ""  # the measured figure against the same engine, by which a speed-up is judged if there is one
    is_seconds: bool = False  # of another machine: shown, never judged


@dataclass(frozen=True)
class Layout:
    """A printed table: what names its rows, what is measured for them and where that comes from."""

    source: str  # "summary", "reductions", "runs", "saved" or "tests"
    columns: tuple[PrintedColumn, ...]
    method: str = ""  # the column that names the method
    keys: tuple[str, ...] = ()  # columns of parameters, after data set and method
    baseline: str = ""  # the paper's name of the method that the others are compared with
    grid: str = ""  # the setting of the paper that lists the values of its grid
    trend: str = ""  # the key along which directions are taken
    kernel: str = ""  # what the methods must have, if the paper has one for all
    extras: tuple[str, ...] = field(default=())  # figures next to the printed ones: same engine, random sample


# Columns ------------------------------------------------------------------------------------------------------------

_ACCURACY = PrintedTolerance(absolute=0.5, rounding=0.05)  # percentage points
_WIDE_ACCURACY = PrintedTolerance(absolute=1.0, rounding=0.005)  # where the paper does not state its parameters
_VECTORS = PrintedTolerance(absolute=0.1, relative=0.2, rounding=0.05)
_TIME_RATIO = PrintedTolerance(relative=0.5, rounding=0.05)
_KEPT = PrintedTolerance(absolute=0.2, relative=0.1, at_most=1.5, rounding=0.05)
_NEVER = PrintedTolerance()

ECS = PrintedColumn("ecs", "ECS", "ecs", _VECTORS, "side", level=0.05, over_grid=True)
CTS = PrintedColumn("cts", "CTS", "cts", _VECTORS, "side", level=0.05, over_grid=True)
RMSE = PrintedColumn(
    "rmse_x100",
    "RMSE (%)",
    "rmse",
    PrintedTolerance(0.3, 0.25, rounding=0.005),
    "side",
    factor=100,
    digits=2,
    over_grid=True,
)
MAX_ACCURACY = PrintedColumn(
    "max_accuracy_percent",
    "max. acc. (%)",
    "max_accuracy",
    _ACCURACY,
    "baseline",
    level=0.5,
    factor=100,
    over_grid=True,
)
MEAN_ACCURACY = replace(MAX_ACCURACY, field="mean_accuracy_percent", title="mean acc. (%)", measure="mean_accuracy")
STD_ACCURACY = replace(MAX_ACCURACY, field="std_accuracy_percent", title="std. acc. (%)", measure="std_accuracy")
ETS = PrintedColumn("ets", "ETS", "ets", _TIME_RATIO, "side", level=0.05, over_grid=True, same_engine="ets_same_engine")
OTS = replace(ETS, field="ots", title="OTS", measure="ots", same_engine="ots_same_engine")
KEPT = PrintedColumn("kept_percent", "kept (%)", "kept_percent", _KEPT, "trend", level=0.05)
REDUCTION_SECONDS = PrintedColumn("seconds", "reduction (s)", "seconds", _NEVER, is_seconds=True)
CLASSIFICATION_SECONDS = PrintedColumn(
    "classification_seconds", "classification (s)", "best_predict_seconds", _NEVER, digits=2, is_seconds=True
)

FW_ACCURACY = PrintedColumn(
    "accuracy_mean_percent", "accuracy (%)", "accuracy", _WIDE_ACCURACY, "baseline", level=0.5, factor=100, digits=2
)
FW_DEVIATION = PrintedColumn(
    "accuracy_std",
    "std. (%)",
    "accuracy_std",
    PrintedTolerance(absolute=0.3),
    "side",
    neutral=0.5,
    factor=100,
    digits=3,
)
SECONDS = PrintedColumn("seconds_mean", "training (s)", "seconds", _NEVER, digits=2, is_seconds=True)
SECONDS_DEVIATION = PrintedColumn("seconds_std", "std. (s)", "seconds_std", _NEVER, digits=2, is_seconds=True)
SPEEDUP = PrintedColumn("speedup", "speed-up", "speedup", replace(_TIME_RATIO, rounding=0.0), "side", level=0.05)

FRACTION = replace(
    FW_ACCURACY, field="accuracy_mean", title="accuracy", tolerance=PrintedTolerance(0.01, rounding=0.0005),
    level=0.005, factor=1, digits=3,
)  # fmt: skip
FRACTION_DEVIATION = replace(
    FW_DEVIATION, field="accuracy_std", title="std.", tolerance=PrintedTolerance(0.003), neutral=0.005, factor=1
)
EXTRACTED = PrintedColumn(
    "n_extracted_mean", "rows kept", "kept_rows", PrintedTolerance(relative=0.25, rounding=0.5), "trend", digits=0
)
EXTRACTED_DEVIATION = PrintedColumn(
    "n_extracted_std", "std. (rows)", "kept_rows_std", PrintedTolerance(relative=0.5), digits=0
)

LP_SECONDS = replace(SECONDS, field="seconds", measure="seconds", digits=3)
TIME_SAVED = PrintedColumn(
    "time_saved", "time saved (%)", "time_saved", PrintedTolerance(10, rounding=0.5), "side", neutral=0, level=2
)
STEPS_SAVED = PrintedColumn(
    "iteration_reduction_percent", "iterations saved (%)", "steps_saved", PrintedTolerance(5, rounding=0.5), "side",
    neutral=0, level=1,
)  # fmt: skip

STATISTIC = PrintedColumn(
    "statistic", "statistic", "statistic", PrintedTolerance(relative=0.1), "side", neutral=0, digits=3
)
P_VALUE = PrintedColumn("p_value", "p-value", "p_value", PrintedTolerance(relative=0.5), "side", neutral=0.05, digits=3)

# Tables -------------------------------------------------------------------------------------------------------------

_QUALITY = (RMSE, MAX_ACCURACY, MEAN_ACCURACY, STD_ACCURACY)
_ENGINE = ("ets_same_engine", "ots_same_engine", "random_ets", "random_ots", "random_rmse", "random_mean_accuracy")
_SOLVERS = Layout(
    "summary", (ECS, CTS, *_QUALITY, ETS, OTS), "solver", ("epsilon",), "LIBSVM", "gaussian_grid",
    kernel="rbf", extras=_ENGINE,
)  # fmt: skip
_REDUCTIONS = Layout("reductions", (KEPT, REDUCTION_SECONDS), keys=("epsilon", "g"), trend="g", kernel="rbf")
_FRANK_WOLFE = Layout("runs", (FW_ACCURACY, FW_DEVIATION), "algorithm", baseline="CVM", grid="C_grid", kernel="rbf")
_LP_SVR = Layout("runs", (LP_SECONDS,), "method")
_BOOTSTRAP = ("random_accuracy",)

LAYOUTS: dict[str, dict[str, Layout]] = {
    "aesvm": {
        "table1": replace(_REDUCTIONS, keys=("epsilon", "g", "P", "V"), trend="V"),
        "table2": _REDUCTIONS,
        "table3": _REDUCTIONS,
        "table4": _SOLVERS,
        "table5": _SOLVERS,
        "table6": replace(_SOLVERS, keys=("epsilon", "k")),
        "table7": replace(_SOLVERS, columns=_QUALITY, keys=("epsilon", "E"), grid="gaussian_grid_small"),
        "table8": replace(
            _SOLVERS, columns=(*_QUALITY, ETS, OTS, CLASSIFICATION_SECONDS), keys=("epsilon", "E")
        ),
        "table9": replace(_REDUCTIONS, keys=("epsilon", "degree"), trend="degree", kernel="poly"),
        "table10": replace(_SOLVERS, grid="polynomial_grid", kernel="poly"),
    },
    "randsvm": {
        "table1": Layout(
            "runs",
            (
                replace(FW_ACCURACY, field="accuracy_percent"),
                replace(SPEEDUP, title="speed-up over LibSVM"),
                replace(SECONDS, field="seconds"),
            ),
            "solver",
            ("n_train",),
            "LibSVM",
        ),
    },
    "frank_wolfe": {
        "table2": _FRANK_WOLFE,
        "table3": replace(
            _FRANK_WOLFE, columns=(replace(SPEEDUP, title="speed-up over CVM"), SECONDS, SECONDS_DEVIATION)
        ),
        "table5": Layout("tests", (STATISTIC,), keys=("measure", "comparison", "test")),
        "table6": Layout("tests", (P_VALUE,), keys=("measure", "comparison", "test")),
        "table8": replace(
            _FRANK_WOLFE,
            columns=(FW_ACCURACY, FW_DEVIATION, replace(SPEEDUP, title="speed-up over FW"), SECONDS, SECONDS_DEVIATION),
            baseline="FW",
            kernel="poly",
        ),
    },
    "lp_svr": {
        "table2": _LP_SVR,
        "table3": replace(_LP_SVR, source="saved", columns=(TIME_SAVED, LP_SECONDS)),
        "table4": replace(_LP_SVR, source="saved", columns=(STEPS_SAVED,)),
    },
    "bootstrap": {
        "table2": Layout("runs", (FRACTION, FRACTION_DEVIATION), keys=("kernel",), extras=_BOOTSTRAP),
        "table3": Layout(
            "runs",
            (EXTRACTED, EXTRACTED_DEVIATION, replace(FRACTION, direction="trend", level=0.0), FRACTION_DEVIATION,
             SECONDS, SECONDS_DEVIATION),
            keys=("sampling_percent", "entropy_percent"),
            trend="entropy_percent",
            extras=_BOOTSTRAP,
        ),
    },
}  # fmt: skip

# Names --------------------------------------------------------------------------------------------------------------

METHODS = {
    "aesvm": {"AESVM1": ("aesvm1", "aesvm"), "AESVM2": ("aesvm2", "aesvm"), "AESVM3": ("aesvm3", "aesvm")},
    "lp_svr": {
        "LS SVM": ("ls svm", "decomposition", "smo"),
        "LSSVM": ("lssvm", "least squares"),
        "IncSVM": ("incsvm", "incremental"),
        "D. Reg. Trees": ("d reg trees", "regression tree", "tree"),
        "FFNN [1,20,1]": ("ffnn", "network", "mlp"),
    },
}
"""How labels of methods may start, in small letters, where the paper's own name is not the only way."""

GENERATORS = {
    "randsvm": {"twonorm": "twonorm", "ringnorm": "ringnorm", "checkerboard": "checkerboard"},
    "lp_svr": {
        "Spiral": "two_spirals",
        "sinc": "sinc",
        "sinc_times_pi": "sinc_times_pi",
        "Synthetic S": "synthetic_s",
        "Synthetic NS": "synthetic_ns",
    },
}
"""Printed data sets that are generated."""

PARAMETERS = {
    "epsilon": ("epsilon",),
    "g": ("gamma",),
    "degree": ("degree",),
    "P": ("P",),
    "V": ("V",),
    "k": ("k",),
    "E": ("E",),
    "kernel": ("kernels", "mixture", "kernel"),
    "sampling_percent": ("proportion", "P", "sampling", "sample"),
    "entropy_percent": ("entropy", "m", "q", "share", "keep"),
}
"""What solvers and reducers call the papers' parameters; the first one that a method has counts."""

PERCENT = ("sampling_percent", "entropy_percent")  # the methods may take them as a share of one
DEFAULTS = {"epsilon": 0.01, "P": 100_000, "V": 1000, "degree": 3}  # of the methods, not recorded when not given
KERNEL_NAMES = {"poly": "polynomial"}
