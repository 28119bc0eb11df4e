"""AESVM: the SVM trained on the representative set."""

from __future__ import annotations

from typing import ClassVar

from sklearn.base import ClassifierMixin

from svmreduce.kernels import KERNELS
from svmreduce.parameters import Parameters
from svmreduce.pipeline import ReducedSolver
from svmreduce.reducers.derive_rs import DeriveRS
from svmreduce.registry import parameters_of
from svmreduce.solvers.smo import SMO


class AESVC(
    Parameters,
    ClassifierMixin,
    ReducedSolver,
    parameters="C kernel gamma coef0 degree epsilon P V first_level tol cache_mb max_iter threads class_weight "
    "random_state probability",
):
    """C-SVC on the approximate extreme points: DeriveRS, then weighted SMO.

    The objective differs from that of the whole problem by at most C·√(C·ε), with the paper's C, which is
    the number of rows times the C here. ``seconds_`` holds the times of reduction and solver separately.

    Parameters
    ----------
    C : float
        LIBSVM's C; the paper's C'.
    epsilon : float
        Largest squared feature-space distance left between a dropped row and its mixture of kept rows.
    P : int
        Maximum number of rows of a first-level cell; see ``DeriveRS``.
    V : int
        Rows of a second-level cell.
    first_level : {"fls2", "fls1"}
        Halve by distance, or cut by position in the file.
    """

    kernels = tuple(name for name in KERNELS if name != "gaussian")
    mixes_kernels = False
    tasks = SMO.tasks
    stops_in_time = True
    weights_reason = ""

    epsilon: float = 1e-2
    P: int = 100_000
    V: int = 1000
    first_level: str = "fls2"
    rules: ClassVar = DeriveRS.rules

    def _given(self):
        own = self.get_params(deep=False)
        return tuple(
            part(**{name: own[name] for name in parameters_of(part) if name in own}) for part in (DeriveRS, SMO)
        )

    @classmethod
    def warm_up(cls) -> None:
        DeriveRS.warm_up()
        SMO.warm_up()
