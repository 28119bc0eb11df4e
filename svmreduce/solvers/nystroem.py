"""Nyström features, then LIBLINEAR: what a modern low-rank method gives for the same number of vectors."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import linalg

from svmreduce.core.threads import in_threads
from svmreduce.solvers._landmarks import LandmarkClassifier
from svmreduce.solvers.liblinear import LOSS, Liblinear

_ROWS = 4096  # of a block
_SMALLEST = 1e-10  # eigenvalues below this part of the largest are rounding


class Nystroem(
    LandmarkClassifier,
    parameters="C kernel gamma coef0 degree share rows loss tol threads random_state",
):
    """Nyström features on random landmark rows, then official LIBLINEAR.

    The features K(x, R)·K(R, R)^(-½) have the products of the kernel's projection on the span of the landmarks
    R. The answer is a sum of kernels around the landmarks, so the model is an ordinary kernel model. With
    all rows as landmarks it is the exact kernel SVM (with a regularised offset, as LIBLINEAR has it).
    Several classes one against one, on the landmarks of the two.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}
        LIBLINEAR's -s 2, which converges on features as alike as these at any C, or -s 3.
    tol : float
        LIBLINEAR's -e.
    threads : int or None
        For everything but LIBLINEAR, which uses one. None takes every core this process may use.

    References
    ----------
    Williams, Seeger (2001): Using the Nyström method to speed up kernel machines.
    """

    accepts_weights = False
    weights_reason = "official LIBLINEAR has one C for all rows of a class; the solvers 'smo' and 'rsvm' take weights"
    _bytes_per_value = 32  # kernel value, feature and LIBLINEAR's node

    loss: str = "squared_hinge"
    tol: float = 0.01
    rules: ClassVar = {"loss": LOSS}

    def _kernel_values(self, kernel, X, landmarks):
        with self._stage("reduce"):
            return super()._kernel_values(kernel, X, landmarks)

    def _fit_landmarks(self, K, landmarks, y, weights):
        with self._stage("reduce"):
            whitener = inverse_root(K[landmarks])
            features = _products(K, whitener, self.threads_)
        backend = Liblinear(self.C, self.loss, self.loss == "hinge", self.tol, random_state=self.random_state)
        backend.classes_, backend.seconds_ = np.array([-1, 1]), self.seconds_
        found = backend._solve(features, (y > 0).astype(np.int64), weights)
        counters = {"objective": found.objective, "n_iter": found.n_iter, "converged": found.converged}
        return whitener @ found.model.weights[0], float(found.model.intercepts[0]), counters


def inverse_root(K: np.ndarray) -> np.ndarray:
    """A matrix M of full column rank with M·Mᵀ the pseudo-inverse of K: directions of no weight are left out."""
    values, vectors = linalg.eigh(K, overwrite_a=True, check_finite=False)
    kept = values > _SMALLEST * max(values[-1], 0.0)
    return vectors[:, kept] / np.sqrt(values[kept])


def _products(K, M, threads: int) -> np.ndarray:
    """K·M, blocks of rows on all threads."""
    out = np.empty((K.shape[0], M.shape[1]))

    def work(block):
        rows = slice(block * _ROWS, (block + 1) * _ROWS)
        np.matmul(K[rows], M, out=out[rows])

    in_threads(work, -(-len(K) // _ROWS), threads)
    return out
