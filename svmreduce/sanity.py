"""Signs that a model cannot be good whatever it scores: columns of unequal size, kernels that see nothing.

Each function gives a warning in one sentence, or None.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from svmreduce.kernels import KernelSpec
from svmreduce.registry import parameters_of

UNEQUAL = 100.0  # times: the smaller column then has a ten-thousandth of the say in a squared distance
_PROBES, _ROWS = 200, 20_000
_ALONE, _SAME = 0.05, 1e-3
_ALL_ROWS = 0.95
_COPIES = 0.05


def unequal_columns(X, titles: list[str] | None = None, remedy: str = "use --scale standard") -> str | None:
    """Whether the ranges of columns differ so much that the largest decide alone."""
    low, high = (np.asarray(_dense(side)).ravel() for side in (X.min(axis=0), X.max(axis=0)))
    ranges = high - low
    varies = np.flatnonzero(ranges > 0)
    if not len(varies):
        return None
    small, large = (varies[pick(ranges[varies])] for pick in (np.argmin, np.argmax))
    if ranges[large] < UNEQUAL * ranges[small]:
        return None
    names = [f"{titles[k]!r}" if titles else f"feature {k + 1}" for k in (small, large)]
    return (
        f"columns differ in size by a factor of {ranges[large] / ranges[small]:.2g} ({names[0]} spans "
        f"{ranges[small]:.3g}, {names[1]} {ranges[large]:.3g}), so the largest decide alone; {remedy}"
    )


def copied_rows(train, test) -> str | None:
    """Whether many test rows were seen in training: what was learned by heart tells nothing about new rows."""
    copies = int(np.isin(_hashes(test), _hashes(train)).sum())
    if copies <= _COPIES * test.shape[0]:
        return None
    share = f"{100 * copies / test.shape[0]:.0f} % of the test rows"
    return f"{share} are copies of training rows: on new rows the accuracy may be lower"


def _hashes(X) -> np.ndarray:
    """One number for each row, the same for equal rows."""
    from pandas import DataFrame
    from pandas.util import hash_pandas_object

    if not sparse.issparse(X):
        return hash_pandas_object(DataFrame(X), index=False).to_numpy()
    X = X.tocsr().sorted_indices()
    return X @ np.random.default_rng(0).standard_normal(X.shape[1])


def blind_kernel(kernel, X, vectors: int | None) -> str | None:
    """Whether an rbf kernel takes all rows for the same, or each row for unlike any other."""
    if not isinstance(kernel, KernelSpec) or kernel.name != "rbf" or X.shape[0] < 50:
        return None
    X, rows = kernel.mapped(X), X.shape[0]
    random = np.random.default_rng(0)
    if rows > _ROWS:
        X = X[np.sort(random.choice(X.shape[0], _ROWS, replace=False))]
    probes = X[np.sort(random.choice(X.shape[0], min(_PROBES, X.shape[0]), replace=False))]
    distances = _squared_distances(probes, X)
    if kernel.gamma * distances.max() < _SAME:
        return (
            f"with gamma {kernel.gamma:.3g} the kernel is nearly the same for all pairs of rows (at least "
            f"{np.exp(-kernel.gamma * distances.max()):.6f}); use a larger -g, or --scale"
        )
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1)
    is_alone = np.median(np.exp(-kernel.gamma * nearest)) < _ALONE
    if is_alone and vectors is not None and vectors >= _ALL_ROWS * rows:
        return (
            f"with gamma {kernel.gamma:.3g} no row is near another one, and {vectors} of {rows} rows are support "
            "vectors: the model remembers rows and learns nothing; use a smaller -g, or --scale"
        )
    return None


def nothing_reduced(kept: int | None, rows: int, method: type) -> str | None:
    """Whether a method that drops rows near others found none."""
    if kept != rows or "epsilon" not in parameters_of(method):
        return None
    return f"nothing was reduced: all {rows} rows are kept; scale the columns, or use a smaller gamma or larger epsilon"


def _squared_distances(A, B) -> np.ndarray:
    products = np.asarray(_dense(A @ B.T))
    lengths = _squared_lengths(A)[:, None] + _squared_lengths(B)
    distances = lengths - 2 * products
    distances[distances < 1e-10 * lengths] = 0.0  # what rounding leaves
    return distances


def _squared_lengths(M) -> np.ndarray:
    squares = M.multiply(M) if sparse.issparse(M) else np.square(M)
    return np.asarray(squares.sum(axis=1)).ravel()


def _dense(M):
    return M.toarray() if sparse.issparse(M) else M
