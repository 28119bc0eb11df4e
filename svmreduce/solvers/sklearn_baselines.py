"""Tree and network of the LP-SVR paper's tables, from scikit-learn: what they reach without any kernel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.tree import DecisionTreeRegressor

from svmreduce.checks import COUNT
from svmreduce.errors import InputError
from svmreduce.parameters import Parameters
from svmreduce.solvers._outcome import Outcome
from svmreduce.solvers.base import BaseSolver, SVMClassifier, SVMRegressor, seed_of

UNLIMITED = 100_000  # passes over the data


@dataclass(frozen=True, eq=False)
class ForeignModel:
    """A fitted estimator of scikit-learn behind the methods of a model; it has no file."""

    estimator: object
    labels: np.ndarray | None = None
    pairwise: ClassVar[bool] = False  # one output per class

    @property
    def n_features(self) -> int:
        return self.estimator.n_features_in_

    @property
    def task(self) -> str:
        return "regression" if self.labels is None else "classification"

    def decision_function(self, X, *, threads: int | None = None) -> np.ndarray:
        """Values of a regression, log odds of two classes, probabilities of more."""
        if self.labels is None:
            return self.estimator.predict(X)
        if len(self.labels) > 2:
            return self.estimator.predict_proba(X)
        logarithms = self.estimator.predict_log_proba(X)
        return logarithms[:, 1] - logarithms[:, 0]

    def predict(self, X, *, threads: int | None = None) -> np.ndarray:
        decisions = self.decision_function(X)
        if self.labels is None:
            return decisions
        return self.labels[(decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)]

    def save(self, path) -> None:
        raise InputError(f"{type(self.estimator).__name__} is not an SVM and has no model file; use it from Python")


class _Baseline(BaseSolver):
    """No kernel, no weights, no model file."""

    kernels = ()
    accepts_weights = False
    weights_reason = "it weighs all rows of a class equally, as scikit-learn does; the solver 'smo' takes weights"


class TreeRegressor(Parameters, _Baseline, SVMRegressor, parameters="leaf_rows random_state"):
    """Regression tree of scikit-learn; ``n_iter_`` counts its splits.

    Parameters
    ----------
    leaf_rows : int
        Least rows of a leaf.
    """

    leaf_rows: int = 5
    rules: ClassVar = {"leaf_rows": COUNT}

    def _solve(self, X, y, weights):
        tree = DecisionTreeRegressor(min_samples_leaf=self.leaf_rows, random_state=seed_of(self.random_state)).fit(X, y)
        return Outcome(ForeignModel(tree), n_iter=tree.tree_.node_count - tree.get_n_leaves())


class _Network(Parameters, _Baseline, parameters="units tol max_iter random_state"):
    """What both tasks share.

    Parameters
    ----------
    units : int
        Of the hidden layer.
    tol : float
        Stops when ten passes have not lowered the loss by more.
    max_iter : int
        Maximum number of passes; -1 for 100,000.
    """

    _toy_settings = ({"max_iter": 5},)

    units: int = 20
    tol: float = 1e-4
    max_iter: int = 1000
    rules: ClassVar = {"units": COUNT}

    def _train(self, network, X, y, labels):
        most = UNLIMITED if self.max_iter < 0 else self.max_iter
        made = network(
            hidden_layer_sizes=(self.units,), tol=self.tol, max_iter=most, random_state=seed_of(self.random_state)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the base says so in its own words
            made.fit(X, y)
        return Outcome(ForeignModel(made, labels), objective=float(made.loss_), n_iter=made.n_iter_,
                       converged=made.n_iter_ < most)  # fmt: skip


class NetworkRegressor(_Network, SVMRegressor):
    """Network with one hidden layer, from scikit-learn; ``n_iter_`` counts passes over the data."""

    def _solve(self, X, y, weights):
        return self._train(MLPRegressor, X, y, None)


class NetworkClassifier(_Network, SVMClassifier):
    """Network with one hidden layer, from scikit-learn; ``n_iter_`` counts passes over the data."""

    def _solve(self, X, y, weights):
        return self._train(MLPClassifier, X, y, self.classes_)
