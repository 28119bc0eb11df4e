"""Official LIBSVM, the baseline of the papers, as estimators."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from itertools import combinations
from typing import ClassVar

import numpy as np
from threadpoolctl import ThreadpoolController

from svmreduce.checks import NOT_NEGATIVE, SHARE, SWITCH
from svmreduce.core.threads import resolve_threads
from svmreduce.errors import InputError
from svmreduce.model import KernelModel
from svmreduce.model.kernel_model import CLASSIFIERS
from svmreduce.parameters import Parameters
from svmreduce.solvers._nodes import LogTap, default_options, node_rows, pointer, threads_that_sleep
from svmreduce.solvers.base import BaseSolver, Outcome, SVMClassifier, SVMOutlierDetector, SVMRegressor

with threads_that_sleep():
    from libsvm import svm

_LOG = LogTap(svm.PRINT_STRING_FUN, svm.libsvm.svm_set_print_string_function)
_ITERATIONS = re.compile(r"#iter = (\d+)")
_OBJECTIVE = re.compile(r"obj = ([-+.\w]+)")  # nan and inf, too


class _LibsvmBackend(Parameters, BaseSolver):
    """What classification and regression share: conversion, the call, and reading the answer.

    Parameters
    ----------
    tol : float
        LIBSVM's -e.
    cache_mb : float
        LIBSVM's -m.
    shrinking : bool
        Leave out rows that seem to stay at a bound (LIBSVM's -h).
    threads : int or None
        None takes every core this process may use; the count in effect is ``threads_``.
    """

    cache_mb: float = 100
    shrinking: bool = True
    rules: ClassVar = {"shrinking": SWITCH}

    accepts_weights = False
    weights_reason = (
        "official LIBSVM has one C for all rows of a class; the solver 'smo' takes weights and finds the same optimum"
    )

    def _problem(self, X, target):
        """LIBSVM's own form of the rows; the arrays behind it come along to stay alive."""
        nodes, addresses, _ = node_rows(X, spare=1)
        target = np.ascontiguousarray(target, dtype=np.float64)
        problem = svm.svm_problem.__new__(svm.svm_problem)
        problem.l = X.shape[0]
        problem.y = pointer(target, ctypes.POINTER(ctypes.c_double))
        problem.x = pointer(addresses, ctypes.POINTER(ctypes.POINTER(svm.svm_node)))
        return problem, (nodes, addresses, target)

    def _train(
        self, X, target, svm_type: str, factors: dict | None = None, **numbers
    ) -> tuple[KernelModel, np.ndarray, list, list]:
        kernel = self._kernel_spec(X)
        options = default_options(svm.svm_parameter)
        options.svm_type = svm.svm_forms[svm_type.upper()]
        options.kernel_type = kernel.code
        options.gamma, options.coef0, options.degree = kernel.gamma, kernel.coef0, int(kernel.degree)
        options.eps, options.cache_size = self.tol, self.cache_mb
        options.shrinking = int(self.shrinking)
        for name, value in numbers.items():
            setattr(options, name, value)
        labels, values = (np.array(list(part), kind) for part, kind in zip(
            ((factors or {}).keys(), (factors or {}).values()), (np.int32, np.float64), strict=True))  # fmt: skip
        options.nr_weight = len(labels)
        options.weight_label = pointer(labels, ctypes.POINTER(ctypes.c_int))
        options.weight = pointer(values, ctypes.POINTER(ctypes.c_double))
        with self._stage("convert"):
            problem, alive = self._problem(X, target)
        complaint = svm.libsvm.svm_check_parameter(problem, options)
        if complaint:
            raise InputError(f"LIBSVM refuses these parameters: {complaint.decode()}")
        openmp = ThreadpoolController().select(user_api="openmp")
        with openmp.limit(limits=resolve_threads(self.threads)):
            self.threads_ = max([lib.num_threads for lib in openmp.lib_controllers], default=1)
            raw, log = _LOG.record(lambda: svm.libsvm.svm_train(problem, options))
        raw = svm.toPyModel(raw)
        with self._stage("convert"):
            model, support = _read_answer(raw, X, kernel, svm_type)
        del raw, alive
        iterations = [int(found) for found in _ITERATIONS.findall(log)]
        objectives = [float(found) for found in _OBJECTIVE.findall(log)]
        if not np.all(np.isfinite(objectives)):
            raise InputError("LIBSVM's objective is not finite: scale the data")
        return model, support, iterations, objectives

    def _classify(self, X, y, svm_type: str, factors=None, **numbers) -> Outcome:
        """Two classes go in as -1 and +1, which LIBSVM always orders +1 first: above zero is classes_[1]."""
        binary = len(self.classes_) == 2
        target = 2.0 * y - 1.0 if binary else y
        codes = [-1, 1] if binary else range(len(self.classes_))
        named = None if factors is None else dict(zip(codes, factors, strict=True))
        model, support, iterations, objectives = self._train(X, target, svm_type, named, **numbers)
        codes = (model.labels + 1) // 2 if binary else model.labels
        counts = np.bincount(y)[codes]
        sizes = [int(a + b) for a, b in combinations(counts, 2)]
        return self._outcome(replace(model, labels=self.classes_[codes]), support, iterations, objectives, sizes)

    def _outcome(self, model, support, iterations, objectives, sizes) -> Outcome:
        return Outcome(
            model,
            support,
            objective=sum(objectives) if objectives else None,
            n_iter=sum(iterations) if iterations else None,
            converged=all(n < step_limit(rows) for n, rows in zip(iterations, sizes, strict=True)),
        )


class Libsvm(
    _LibsvmBackend,
    SVMClassifier,
    parameters="C kernel gamma coef0 degree tol cache_mb shrinking threads class_weight probability",
):
    """C-SVC by official LIBSVM, its own one-against-one and class weights included."""

    def _solve(self, X, y, weights):
        return self._classify(X, y, "c_svc", self.class_factors(self.classes_[y]), C=self.C)


class LibsvmNuSVC(
    _LibsvmBackend, SVMClassifier, parameters="nu kernel gamma coef0 degree tol cache_mb shrinking threads probability"
):
    """ν-SVC by official LIBSVM.

    Parameters
    ----------
    nu : float
        At least this share of the rows become support vectors, and at most this share lie inside the margin (LIBSVM's
        -n).
    """

    nu: float = 0.5
    rules: ClassVar = {"nu": SHARE}

    def _solve(self, X, y, weights):
        return self._classify(X, y, "nu_svc", nu=self.nu)


class LibsvmSVR(
    _LibsvmBackend, SVMRegressor, parameters="C epsilon kernel gamma coef0 degree tol cache_mb shrinking threads"
):
    """ε-SVR by official LIBSVM.

    Parameters
    ----------
    epsilon : float
        Errors up to here cost nothing (LIBSVM's -p).
    """

    weights_reason = "official LIBSVM has one C for all rows; the solver 'svr' takes weights and finds the same optimum"

    epsilon: float = 0.1
    rules: ClassVar = {"epsilon": NOT_NEGATIVE}

    def _solve(self, X, y, weights):
        model, support, iterations, objectives = self._train(X, y, "epsilon_svr", C=self.C, p=self.epsilon)
        return self._outcome(model, support, iterations, objectives, [2 * len(y)])


class LibsvmNuSVR(
    _LibsvmBackend, SVMRegressor, parameters="C nu kernel gamma coef0 degree tol cache_mb shrinking threads"
):
    """ν-SVR by official LIBSVM.

    Parameters
    ----------
    nu : float
        At most this share of the rows lie outside of the tube, whose width is found (LIBSVM's -n).
    """

    weights_reason = "official LIBSVM has one C for all rows; the solver 'nu_svr' takes weights"

    nu: float = 0.5
    rules: ClassVar = {"nu": SHARE}

    def _solve(self, X, y, weights):
        return self._outcome(*self._train(X, y, "nu_svr", C=self.C, nu=self.nu), [2 * len(y)])


class LibsvmOneClass(
    _LibsvmBackend, SVMOutlierDetector, parameters="nu kernel gamma coef0 degree tol cache_mb shrinking threads"
):
    """One-class SVM by official LIBSVM: where most rows are. ``predict`` is +1 there and -1 elsewhere.

    Parameters
    ----------
    nu : float
        At most this share of the training rows are outside (LIBSVM's -n).
    """

    weights_reason = "official LIBSVM has one weight for all rows; the solver 'one_class' takes weights"

    nu: float = 0.5
    rules: ClassVar = {"nu": SHARE}

    def _solve(self, X, y, weights):
        return self._outcome(*self._train(X, y, "one_class", nu=self.nu), [len(y)])


def step_limit(rows: int) -> int:
    """Where LIBSVM gives up, by its source; it says so only on the C library's stderr."""
    return max(10_000_000, 100 * rows)


def _read_answer(raw, X, kernel, svm_type) -> tuple[KernelModel, np.ndarray]:
    """Copy the trained model out of LIBSVM's memory."""
    k, n_sv = raw.nr_class, raw.l

    def copied(address, size, dtype):
        return np.array(np.ctypeslib.as_array(address, (size,)), dtype=dtype) if size else np.empty(0, dtype)

    support = copied(raw.sv_indices, n_sv, np.int64) - 1
    coef = np.array([copied(raw.sv_coef[row], n_sv, np.float64) for row in range(k - 1)])
    intercepts = -copied(raw.rho, k * (k - 1) // 2, np.float64) + 0.0
    labels = n_support = None
    if svm_type in CLASSIFIERS:
        labels, n_support = copied(raw.label, k, np.int64), copied(raw.nSV, k, np.int64)
    return KernelModel(kernel, X[support], coef, intercepts, labels, n_support, svm_type), support
