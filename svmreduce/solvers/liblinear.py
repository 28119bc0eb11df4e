"""Official LIBLINEAR as an estimator: what a linear model reaches, and how fast."""

from __future__ import annotations

import ctypes
import re
import sys
from typing import ClassVar

import numpy as np
from liblinear import liblinear as backend

from svmreduce.checks import FINITE, SWITCH, one_of
from svmreduce.errors import InputError
from svmreduce.model.linear_model import SOLVER_TYPES, LinearModel
from svmreduce.parameters import Parameters
from svmreduce.solvers._nodes import LogTap, default_options, node_rows, pointer
from svmreduce.solvers.base import Outcome, SVMClassifier, seed_of

_LOG = LogTap(backend.PRINT_STRING_FUN, backend.liblinear.set_print_string_function)
_DUAL_STEPS = re.compile(r"#iter = (\d+)")
_PRIMAL_STEPS = re.compile(r"^iter +\d+ f ", re.MULTILINE)
_DUAL_OBJECTIVE = re.compile(r"Objective value = (\S+)")
_SWITCHED = "Switching to use -s 2"
_PROBLEMS = {
    ("squared_hinge", True): "L2R_L2LOSS_SVC_DUAL",
    ("squared_hinge", False): "L2R_L2LOSS_SVC",
    ("hinge", True): "L2R_L1LOSS_SVC_DUAL",
}
LOSS = one_of("squared_hinge", "hinge")
_OWN_TOL = {True: 0.1, False: 0.01}  # LIBLINEAR's defaults for dual and primal problems


class Liblinear(Parameters, SVMClassifier, parameters="C loss dual tol bias random_state class_weight"):
    """Linear SVM by official LIBLINEAR; several classes one against the rest.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}
    dual : bool
        Solve the dual (LIBLINEAR's -s 1, or -s 3 for hinge) or, for squared_hinge, the primal (-s 2).
    tol : float or None
        LIBLINEAR's -e; None takes its own default, 0.1 for dual and 0.01 for primal problems.
    bias : float
        Value of the constant feature that gives the intercept; below 0 for none (LIBLINEAR's -B).
    """

    kernels = ("linear",)
    accepts_weights = False
    weights_reason = (
        "official LIBLINEAR has one C for all rows of a class; the solver 'smo' with kernel 'linear' takes weights"
    )

    loss: str = "squared_hinge"
    dual: bool = True
    tol: float | None = None
    bias: float = 1.0
    rules: ClassVar = {"loss": LOSS, "dual": SWITCH, "bias": FINITE}

    def _solve(self, X, y, weights):
        solver_type = self._solver_type()
        options = default_options(backend.parameter)
        options.solver_type = SOLVER_TYPES[solver_type]
        options.C = self.C
        options.eps = _OWN_TOL[bool(self.dual)] if self.tol is None else self.tol
        binary = len(self.classes_) == 2
        factors = self.class_factors(self.classes_[y])
        codes = np.array([-1, 1] if binary else range(len(factors)), np.int32)
        options.nr_weight = len(codes)
        options.weight_label = pointer(codes, ctypes.POINTER(ctypes.c_int))
        options.weight = pointer(factors, ctypes.POINTER(ctypes.c_double))
        with self._stage("convert"):
            problem, alive = self._problem(X, 2.0 * y - 1.0 if binary else y)
        complaint = backend.liblinear.check_parameter(problem, options)
        if complaint:
            raise InputError(f"LIBLINEAR refuses these parameters: {complaint.decode()}")
        _seed_c_library(seed_of(self.random_state))
        raw, log = _LOG.record(lambda: backend.liblinear.train(problem, options))
        model = self._read_answer(raw.contents, X.shape[1], solver_type, binary)
        backend.liblinear.free_and_destroy_model(ctypes.byref(raw))
        del alive, codes, factors
        return Outcome(model, **read_log(log))

    def _solver_type(self) -> str:
        if (self.loss, bool(self.dual)) not in _PROBLEMS:
            raise InputError("LIBLINEAR solves the hinge loss only in the dual: set dual=True")
        return _PROBLEMS[self.loss, bool(self.dual)]

    def _problem(self, X, target):
        """LIBLINEAR's own form of the rows: two closing nodes, the first of them for the bias."""
        nodes, addresses, ends = node_rows(X, spare=2)
        target = np.ascontiguousarray(target, dtype=np.float64)
        if self.bias >= 0:
            nodes["index"][ends] = X.shape[1] + 1
            nodes["value"][ends] = self.bias
        problem = backend.problem.__new__(backend.problem)
        problem.l, problem.n = X.shape[0], X.shape[1] + (self.bias >= 0)
        problem.y = pointer(target, ctypes.POINTER(ctypes.c_double))
        problem.x = pointer(addresses, ctypes.POINTER(ctypes.POINTER(backend.feature_node)))
        # the Python class keeps its C field "bias" under the same name
        problem.bias = float(self.bias)
        return problem, (nodes, addresses, target)

    def _read_answer(self, raw, features: int, solver_type: str, binary: bool) -> LinearModel:
        """Copy the weights out; two classes as classes_[1] against classes_[0], more in LIBLINEAR's order."""
        codes = np.array(raw.label[: raw.nr_class], dtype=np.int64)
        outputs = 1 if binary else raw.nr_class
        rows = features + (self.bias >= 0)
        weights = np.array(np.ctypeslib.as_array(raw.w, (rows, outputs)))
        if binary and codes[0] < 0:  # LIBLINEAR counted the first row's class as positive
            weights, codes = -weights, -codes
        labels = self.classes_[(codes + 1) // 2 if binary else codes]
        intercepts = self.bias * weights[-1] if self.bias >= 0 else np.zeros(outputs)
        own = np.ascontiguousarray(weights[:features].T)
        return LinearModel(own, intercepts, labels, solver_type, float(self.bias))


def read_log(log: str) -> dict:
    """Steps, dual objective and convergence from what LIBLINEAR printed.

    A dual problem that runs out of steps may be finished in the primal; then it has converged, but its
    dual objective is not known.
    """
    switched = log.count(_SWITCHED)
    duals = [float(found) for found in _DUAL_OBJECTIVE.findall(log)]
    steps = sum(int(found) for found in _DUAL_STEPS.findall(log)) + len(_PRIMAL_STEPS.findall(log))
    return {
        "n_iter": steps,
        "objective": sum(duals) if duals and not switched else None,
        "converged": log.count("WARNING") == switched,
    }


def _seed_c_library(seed: int) -> None:
    """LIBLINEAR shuffles rows with the C library's rand(), which otherwise continues from the last fit."""
    library = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
    library.srand(ctypes.c_uint(seed % 2**32))
