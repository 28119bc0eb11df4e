"""The problems: three generators at three sizes, three real files where a mirror has them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from svmreduce.data import catalog, fetching, synthetic

SIZES = (20_000, 50_000, 100_000)
PARAMETERS = {  # C and gamma: ordinary choices, good test accuracy on each
    "checkerboard": (10.0, 2.0),
    "twonorm": (1.0, 0.05),
    "ringnorm": (1.0, 0.05),
    "ijcnn1": (32.0, 1.0),
    "w8a": (1.0, 0.033),
    "a9a": (1.0, 0.008),
    "mnist": (10.0, 0.0134),
}
TEST_ROWS = 10_000


def names(sizes=SIZES) -> list[str]:
    made = [f"{name}:{rows}" for rows in sizes for name in ("checkerboard", "twonorm", "ringnorm")]
    real = [name for name in ("ijcnn1", "w8a", "a9a") if fetching.locate(catalog.load_card(name))]
    return real + made


def build(name: str):
    """(X, y, X_test, y_test, C, gamma)"""
    base, _, rows = name.partition(":")
    if base == "mnist":
        train, test = (catalog.load(base, part) for part in ("train", "test"))
        grey = lambda X: _wide(X, 784).toarray() / 255.0  # noqa: E731
        return grey(train.X[: int(rows)]), train.y[: int(rows)], grey(test.X), test.y, *PARAMETERS[base]
    if rows:
        train, test = synthetic.make(base, int(rows), seed=0), synthetic.make(base, TEST_ROWS, seed=1)
    else:
        train, test = catalog.load(base, "train"), catalog.load(base, "test")
    width = max(train.n_features, test.n_features)
    return (_wide(train.X, width), train.y, _wide(test.X, width)[:TEST_ROWS], test.y[:TEST_ROWS],
            *PARAMETERS[base])  # fmt: skip


def _wide(X, width):
    if X.shape[1] == width:
        return X
    if sparse.issparse(X):
        return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
    return np.hstack([X, np.zeros((X.shape[0], width - X.shape[1]))])
