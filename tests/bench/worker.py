"""One fit in a process of its own: ``python -m tests.bench.worker METHOD PROBLEM THREADS`` prints JSON.

The thread count is the number of cores the process may run on, so that it binds every library alike.
Compilation and warm-up are off the clock; data conversion for official LIBSVM is reported apart.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from time import perf_counter, process_time

CACHE_MB = 1024
# In a virtual machine the first touch of a page can cost more than the work on it, and pages that nobody uses go back
# to the host within seconds. A process that takes two gigabytes and ends leaves them ready for the next fit, whichever
# method that is.
READY_MEMORY = "import numpy; numpy.ones(1 << 28)"


def main(method: str, problem: str, threads: int):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
    from tests.bench import problems

    X, y, X_test, y_test, C, gamma = problems.build(problem)
    warm_up, fit, predict = METHODS[method](C, gamma, threads)
    warm_up()
    subprocess.run([sys.executable, "-c", READY_MEMORY], check=True)
    before = _peak_mb()
    start, cpu = perf_counter(), process_time()
    facts = fit(X, y)
    facts = {"cpu_seconds": process_time() - cpu, "seconds": perf_counter() - start, **facts}
    if "convert_seconds" in facts:  # its share of the processor's time as well
        facts["cpu_seconds"] *= facts["seconds"] / (facts["seconds"] + facts["convert_seconds"])
    facts["memory_mb"] = _peak_mb() - before
    prediction = predict(X_test[:2000])  # once off the clock: threads started, memory touched
    start, cpu = perf_counter(), process_time()
    prediction = predict(X_test)
    facts["predict_seconds"], facts["predict_cpu_seconds"] = perf_counter() - start, process_time() - cpu
    facts["accuracy"] = float((prediction == y_test).mean())
    facts |= {"test_rows": len(y_test), "load": os.getloadavg()[0]}
    print(json.dumps({"method": method, "problem": problem, "threads": threads, **facts}))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _own(C, gamma, threads):
    from svmreduce.solvers.smo import SMO

    model = SMO(C=C, gamma=gamma, cache_mb=CACHE_MB, threads=threads)

    def fit(X, y):
        model.fit(X, y)
        return {"objective": model.objective_, "vectors": len(model.support_), "gap": model.gap_}

    return SMO.warm_up, fit, model.predict


def _libsvm(C, gamma, threads):
    from svmreduce.solvers.libsvm import Libsvm

    model = Libsvm(C=C, gamma=gamma, cache_mb=CACHE_MB, threads=threads)

    def fit(X, y):
        model.fit(X, y)
        return {"objective": model.objective_, "vectors": len(model.support_),
                "seconds": model.seconds_["solve"], "convert_seconds": model.seconds_["convert"]}  # fmt: skip

    return Libsvm.warm_up, fit, lambda X: _native_predictions(model, X)


def _native_predictions(model, X):
    """Predictions by LIBSVM's own code (our backend's ``predict`` uses our kernel tiles)."""
    import ctypes
    import tempfile
    from pathlib import Path

    import numpy as np
    from libsvm import svm

    from svmreduce.solvers._nodes import node_rows

    if not hasattr(model, "native_"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            model.model_.save(path)
            model.native_ = svm.libsvm.svm_load_model(str(path).encode())
    nodes, addresses, _ = node_rows(X, 1)
    rows = [ctypes.cast(int(address), ctypes.POINTER(svm.svm_node)) for address in addresses]
    values = np.array([svm.libsvm.svm_predict(model.native_, row) for row in rows])
    del nodes
    return values


def _sklearn(C, gamma, threads, intelex=False, dtype="float64"):
    if intelex:
        from sklearnex.svm import SVC
    else:
        from sklearn.svm import SVC
    model = SVC(C=C, gamma=gamma, cache_size=CACHE_MB)

    def cast(X):
        return X.astype(dtype, copy=False)

    def warm_up():
        import numpy as np

        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
        SVC().fit(cast(X), y).predict(cast(X))

    def fit(X, y):
        X = cast(X)
        start, cpu = perf_counter(), process_time()
        model.fit(X, y)
        seconds, cpu = perf_counter() - start, process_time() - cpu
        return {
            "seconds": seconds,
            "cpu_seconds": cpu,
            "vectors": len(model.support_),
            "objective": _objective(model, X, y, gamma),
        }

    return warm_up, fit, lambda X: model.predict(cast(X))


def _objective(model, X, y, gamma) -> float:
    """½βᵀKβ − Σ|β| in double, summed over pairs of classes, from what the peer calls its dual coefficients."""
    from itertools import combinations

    import numpy as np
    from scipy import sparse

    from svmreduce.core.kernel_values import decision_shares
    from svmreduce.kernels import KernelSpec

    coef = model.dual_coef_
    coef = (coef.toarray() if sparse.issparse(coef) else np.asarray(coef)).astype(np.float64)
    rows = X[model.support_].astype(np.float64)
    ends = np.concatenate([[0], np.cumsum(model.n_support_)])
    shares = decision_shares(KernelSpec("rbf", gamma), rows, rows, coef.T, ends)
    total = -np.abs(coef).sum()
    for i, j in combinations(range(len(ends) - 1), 2):
        f = shares[i][:, j - 1] + shares[j][:, i]
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        total += 0.5 * (coef[j - 1, of_i] @ f[of_i] + coef[i, of_j] @ f[of_j])
    return float(total)


def _sample(C, gamma, threads):
    """What users try first: SVC on one row in ten."""
    import numpy as np
    from sklearn.svm import SVC

    model = SVC(C=C, gamma=gamma, cache_size=CACHE_MB)

    def fit(X, y):
        rows = np.random.default_rng(0).permutation(len(y))[: len(y) // 10]
        model.fit(X[rows], y[rows])
        return {"vectors": len(model.support_)}

    return lambda: None, fit, model.predict


def _nystroem(C, gamma, threads, linear):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(Nystroem(gamma=gamma, n_components=300, random_state=0), linear)

    def fit(X, y):
        model.fit(X, y)
        return {}

    return lambda: None, fit, model.predict


def _nystroem_ridge(C, gamma, threads):
    from sklearn.linear_model import RidgeClassifier

    return _nystroem(C, gamma, threads, RidgeClassifier())


def _nystroem_liblinear(C, gamma, threads):
    from svmreduce.solvers.liblinear import Liblinear

    return _nystroem(C, gamma, threads, Liblinear(C=C))


METHODS = {
    "svmreduce smo": _own,
    "LIBSVM": _libsvm,
    "scikit-learn": _sklearn,
    "intelex f64": lambda *a: _sklearn(*a, intelex=True),
    "intelex f32": lambda *a: _sklearn(*a, intelex=True, dtype="float32"),
    "10 % sample": _sample,
    "Nystroem-300 + ridge": _nystroem_ridge,
    "Nystroem-300 + LIBLINEAR": _nystroem_liblinear,
}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
