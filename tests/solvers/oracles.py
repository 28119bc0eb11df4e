"""Small problems solved by general-purpose optimisers, for solvers to be held against."""

import numpy as np
from scipy.optimize import minimize

from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.kernels import KernelSpec


def cloud(rows=120, features=5, classes=2, seed=0):
    """Classes that overlap, values that are partly zero."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(rows, features)) + 0.8 * np.eye(classes, features)[y]
    X[rng.random(X.shape) < 0.3] = 0
    return X, y


def exact_kernel_svm(X, y, gamma, C, loss):
    """Decision values on X and objective of the rbf SVM with a regularised offset (kernel k + 1), by its dual.

    Parameters
    ----------
    y : ±1
    loss : "hinge" or "squared_hinge"
    """
    K = kernel_matrix(KernelSpec("rbf", gamma), X, X) + 1
    Q = y[:, None] * K * y
    top = None
    if loss == "squared_hinge":
        Q = Q + np.eye(len(y)) / (2 * C)
    else:
        top = C
    found = minimize(
        lambda alpha: (alpha @ Q @ alpha / 2 - alpha.sum(), Q @ alpha - 1),
        np.zeros(len(y)),
        jac=True,
        bounds=[(0, top)] * len(y),
        method="L-BFGS-B",
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return K @ (y * found.x), -found.fun
