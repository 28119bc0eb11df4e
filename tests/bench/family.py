"""ε-SVR and one-class SVM beside scikit-learn: processor seconds on one thread, and objectives at a small tolerance.

``python -m tests.bench family [--rows 20000] [--repeats 2]``
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from time import process_time

import numpy as np
from scipy import sparse
from sklearn import svm
from sklearn.datasets import make_friedman1
from sklearn.metrics.pairwise import pairwise_kernels
from threadpoolctl import threadpool_limits

from svmreduce.data import catalog, fetching
from svmreduce.solvers.one_class import OneClass
from svmreduce.solvers.svr import SVR
from tests.bench.output import machine, write
from tests.bench.worker import READY_MEMORY

LONG = 10.0  # seconds; a fit that takes longer is not repeated
CACHE_MB = 1000
PEERS = {SVR: svm.SVR, OneClass: svm.OneClassSVM}
CASES = (
    ("friedman", SVR, {"C": 1.0, "gamma": 0.2, "epsilon": 0.1}),
    ("friedman", SVR, {"C": 10.0, "gamma": 0.5, "epsilon": 0.3}),
    ("covertype", SVR, {"C": 1.0, "gamma": 1.0, "epsilon": 0.1}),
    ("covertype", SVR, {"C": 1.0, "gamma": 1.0, "epsilon": 0.01}),
    ("friedman", OneClass, {"nu": 0.1, "gamma": 0.5}),
    ("covertype", OneClass, {"nu": 0.5, "gamma": 1.0}),
    ("covertype", OneClass, {"nu": 0.1, "gamma": 8.0}),
    ("covertype", OneClass, {"nu": 0.02, "gamma": 0.2}),
)


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench family", description=__doc__)
    options.add_argument("--rows", type=int, default=20_000)
    options.add_argument("--repeats", type=int, default=2)
    given = options.parse_args(arguments)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for kind in PEERS:
            kind.warm_up()
        tables = dict(zip(("friedman", "covertype"), (_friedman(given.rows), _covertype(given.rows)), strict=True))
        records = [_timed(name, tables[name], kind, settings, given.repeats)
                   for name, kind, settings in CASES if tables[name] is not None]  # fmt: skip
        differences = {kind.__name__: max(_difference(seed, kind) for seed in range(30)) for kind in PEERS}
    lines = ["# ε-SVR and one-class SVM", "", machine(), "",
             f"{given.rows:,} rows, rbf, tol = 0.001, {CACHE_MB} MB; processor seconds on one thread, the least of "
             "repeats in turn. `friedman`: ten columns, targets of deviation 1. `covertype`: columns to [0, 1]; the "
             "first, standardised, is the target of the regressions.", "",
             "| data | | settings | scikit-learn | svmreduce | times faster | support vectors |",
             "| --- | --- | --- | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for one in records:
        shown = ", ".join(f"{key} = {value:g}" for key, value in one["settings"].items())
        lines.append(f"| {one['data']} | {one['kind']} | {shown} | {one['theirs']:.2f} | {one['ours']:.2f} | "
                     f"{one['theirs'] / one['ours']:.1f} | {one['vectors']:,} |")  # fmt: skip
    found = ", ".join(f"{name} {value:.0e}" for name, value in differences.items())
    lines += ["", "30 random problems each (linear, poly, rbf; dense and sparse; weights), tol = 1e-6: largest "
              f"relative difference between the objectives: {found}."]  # fmt: skip
    write("family", "\n".join(lines) + "\n", [*records, differences])


def _friedman(rows):
    X, y = make_friedman1(rows, noise=1.0, random_state=0)
    return X, X, (y - y.mean()) / y.std()


def _covertype(rows):
    """Rows of the one-class SVM, those of the regression, and its targets; None without the file."""
    if not fetching.locate(catalog.load_card("covertype")):
        return None
    X = catalog.load("covertype:2-vs-rest").X
    X = X[np.random.default_rng(1).permutation(X.shape[0])[:rows]]
    X = np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X)
    return X, np.ascontiguousarray(X[:, 1:]), (X[:, 0] - X[:, 0].mean()) / X[:, 0].std()


def _timed(name, table, kind, settings, repeats) -> dict:
    X, y = (table[1], table[2]) if kind is SVR else (table[0], None)
    makers = {"theirs": lambda: PEERS[kind](cache_size=CACHE_MB, **settings),
              "ours": lambda: kind(cache_mb=CACHE_MB, threads=1, **settings)}  # fmt: skip
    seconds = {"theirs": np.inf, "ours": np.inf}
    for turn in range(repeats):
        for who, make in makers.items():
            if turn and seconds[who] > LONG:
                continue
            subprocess.run([sys.executable, "-c", READY_MEMORY], check=True)
            begun = process_time()
            fitted = make().fit(X, y)
            seconds[who] = min(seconds[who], process_time() - begun)
    vectors = int(fitted.support_vectors_.shape[0])
    return {"data": name, "kind": kind.__name__, "settings": settings, "vectors": vectors, **seconds}


def _difference(seed: int, kind) -> float:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 400)), int(rng.integers(1, 30))
    X = (2.0 + rng.normal(size=(n, d))) * (rng.random((n, d)) < (0.4 if seed % 2 else 1.0))
    X[:, 0] = 1.0 + np.abs(X[:, 0])  # off the origin: a linear one-class SVM has an objective of zero otherwise
    y, weights = np.sin(X[:, 0]) + X @ rng.normal(size=d) / d + 0.3 * rng.normal(size=n), rng.uniform(0.01, 3.0, n)
    settings = {"kernel": ("linear", "poly", "rbf")[seed % 3], "gamma": 1 / d, "coef0": 1.0, "tol": 1e-6}
    own = {"C": 10.0 ** rng.uniform(-2, 1), "epsilon": rng.choice([0.0, 0.01, 0.1, 0.5])}
    settings |= own if kind is SVR else {"nu": rng.uniform(0.05, 0.9)}
    rows = sparse.csr_matrix(X) if seed % 2 else X
    ours, theirs = (made(**settings).fit(rows, y, sample_weight=weights) for made in (kind, PEERS[kind]))
    beta = np.zeros(n)
    beta[theirs.support_] = theirs.dual_coef_.toarray()[0] if seed % 2 else theirs.dual_coef_[0]
    K = pairwise_kernels(X, metric=settings["kernel"], filter_params=True, degree=3, gamma=1 / d, coef0=1.0)
    linear = settings.get("epsilon", 0.0) * np.abs(beta).sum() - (y @ beta if kind is SVR else 0.0)
    return abs(ours.objective_ / (0.5 * beta @ K @ beta + linear) - 1.0)
