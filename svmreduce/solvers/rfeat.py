"""RfeatSVM: random Fourier features, then a linear SVM on them."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import ClassVar

import numpy as np

from svmreduce.checks import COUNT, SWITCH
from svmreduce.core.threads import resolve_threads
from svmreduce.errors import InputError
from svmreduce.kernels import resolve_gamma
from svmreduce.memory import check_memory
from svmreduce.model import FourierMap, FourierModel, KernelModel
from svmreduce.parameters import Parameters
from svmreduce.solvers.base import Outcome, SVMClassifier, seed_of
from svmreduce.solvers.liblinear import LOSS, Liblinear
from svmreduce.solvers.libsvm import Libsvm

# bytes per feature value while a backend trains: ours, its node, and a support vector's copy
_BYTES = 8 + 16 + 8


class _RandomFeatures(Parameters, SVMClassifier):
    """What both share: the features, and handing them to the backend as if they were the data.

    ``seconds_`` counts the features of the training rows as ``reduce``: they depend on gamma and not on
    C, as a reduction does. Prediction makes the features of new rows on the way, inside its time.

    Parameters
    ----------
    gamma : float or {"scale", "auto", "auto-distance"}
        Of the rbf kernel that the features stand for.
    E : int
        Random features.
    """

    E: int = 1000
    rules: ClassVar = {"E": COUNT}

    kernels = ("rbf",)
    accepts_weights = False

    def _backend(self) -> SVMClassifier:
        """Subclass: the linear solver, unfitted."""
        raise TypeError(f"{type(self).__name__} does not say how to solve")

    def _linear_rule(self, model) -> tuple[np.ndarray, bool]:
        """Subclass: weights of shape (outputs, E), and whether an output is a pair of classes."""
        raise TypeError(f"{type(self).__name__} does not say how to read its backend's model")

    def _solve(self, X, y, weights):
        n, d = X.shape
        needed = n * self.E * _BYTES + 8 * d * self.E
        check_memory(needed, f"{self.E} random features of {n} rows", "lower E, or train on fewer rows")
        with self._stage("reduce"):
            fourier = FourierMap.draw(d, self.E, resolve_gamma(self.gamma, X), seed_of(self.random_state))
            features = fourier.transform(X, resolve_threads(self.threads))
            if not np.isfinite(features.sum()):
                raise InputError("the random features are not finite: scale the data")
        backend = self._backend()
        backend.classes_, backend.seconds_ = self.classes_, self.seconds_
        found = backend._solve(features, y, weights)
        rule, by_pairs = self._linear_rule(found.model)
        model = FourierModel(fourier, rule, found.model.intercepts, found.model.labels, by_pairs)
        return Outcome(model, objective=found.objective, n_iter=found.n_iter, converged=found.converged)


class RfeatSVM1(_RandomFeatures, parameters="C gamma E tol cache_mb shrinking threads random_state"):
    """Random Fourier features, then official LIBSVM with a linear kernel (RfeatSVM1).

    E random cosines stand for the rbf kernel, so an exact linear SVM on them is an approximate kernel SVM.

    Parameters
    ----------
    tol : float
        LIBSVM's -e.
    cache_mb : float
        LIBSVM's -m.
    shrinking : bool
        LIBSVM's -h.

    References
    ----------
    Rahimi, Recht (2007): Random features for large-scale kernel machines.
    """

    weights_reason = Libsvm.weights_reason

    cache_mb: float = 100
    shrinking: bool = True
    rules: ClassVar = {"shrinking": SWITCH}

    def _backend(self):
        return Libsvm(
            self.C, "linear", tol=self.tol, cache_mb=self.cache_mb, shrinking=self.shrinking, threads=self.threads
        )

    def _linear_rule(self, model):
        return pair_weights(model), True


class RfeatSVM2(_RandomFeatures, parameters="C gamma E loss tol threads random_state"):
    """Random Fourier features, then official LIBLINEAR (RfeatSVM2); several classes one against the rest.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}
    tol : float
        LIBLINEAR's -e for its dual solvers.
    threads : int or None
        For the features; LIBLINEAR itself uses one. None takes every core this process may use.
    """

    weights_reason = "official LIBLINEAR has one C for all rows of a class; the solvers 'smo' and 'rsvm' take weights"

    loss: str = "squared_hinge"
    tol: float = 0.1
    rules: ClassVar = {"loss": LOSS}

    def _backend(self):
        return Liblinear(self.C, self.loss, tol=self.tol, random_state=self.random_state)

    def _linear_rule(self, model):
        return model.weights, False


def pair_weights(model: KernelModel) -> np.ndarray:
    """One weight vector per pair of classes from a model with a linear kernel."""
    k = len(model.labels)
    ends = np.concatenate([[0], np.cumsum(model.n_support)])
    parts = [slice(a, b) for a, b in pairwise(ends)]
    return np.array([
        model.coef[j - 1, parts[i]] @ model.vectors[parts[i]] + model.coef[i, parts[j]] @ model.vectors[parts[j]]
        for i, j in combinations(range(k), 2)
    ])  # fmt: skip
