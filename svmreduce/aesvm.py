"""AESVM: the SVM trained on the representative set."""

from __future__ import annotations

from sklearn.base import ClassifierMixin

from svmreduce.kernels import KERNELS
from svmreduce.pipeline import ReducedSolver
from svmreduce.reducers.derive_rs import DeriveRS
from svmreduce.registry import parameters_of
from svmreduce.solvers.smo import SMO


class AESVC(ClassifierMixin, ReducedSolver):
    """C-SVC on the approximate extreme points: DeriveRS, then weighted SMO.

    The objective differs from that of the whole problem by at most C·√(C·ε), with the paper's C, which is
    the number of rows times the C here. ``seconds_`` holds the times of reduction and solver apart.

    Parameters
    ----------
    C : float, default=1.0
        LIBSVM's C; the paper's C'.
    kernel : {"linear", "poly", "rbf", "sigmoid", "kmod", "gaussian_diagonal", "gaussian_mahalanobis"}, default="rbf"
    gamma : float or {"scale", "auto", "auto-distance"}, default="scale"
    coef0 : float, default=0.0
    degree : int, default=3
    epsilon : float, default=1e-2
        Largest squared feature-space distance left between a dropped row and its mixture of kept rows.
    P : int, default=100000
    V : int, default=1000
    first_level : {"fls2", "fls1"}, default="fls2"
        See ``DeriveRS``.
    tol : float, default=1e-3
    cache_mb : float, default=1024
    max_iter : int, default=-1
    threads : int or None
    class_weight : None, "balanced" or dict
    random_state : int, RandomState or None, default=0
    """

    kernels = KERNELS
    mixes_kernels = False
    tasks = SMO.tasks
    weights_reason = ""

    def __init__(
        self,
        C=1.0,
        kernel="rbf",
        gamma="scale",
        coef0=0.0,
        degree=3,
        epsilon=1e-2,
        P=100_000,
        V=1000,
        first_level="fls2",
        tol=1e-3,
        cache_mb=1024,
        max_iter=-1,
        threads=None,
        class_weight=None,
        random_state=0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.epsilon = epsilon
        self.P = P
        self.V = V
        self.first_level = first_level
        self.tol = tol
        self.cache_mb = cache_mb
        self.max_iter = max_iter
        self.threads = threads
        self.class_weight = class_weight
        self.random_state = random_state

    def _given(self):
        own = self.get_params(deep=False)
        return tuple(
            part(**{name: own[name] for name in parameters_of(part) if name in own}) for part in (DeriveRS, SMO)
        )

    @classmethod
    def warm_up(cls) -> None:
        DeriveRS.warm_up()
        SMO.warm_up()
