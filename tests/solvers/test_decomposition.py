"""Decomposition and incremental SVM: the optimum of smo and LIBSVM, from any first rows and in any order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC, SVR

from svmreduce.core import smo_engine
from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.core.optimality import kkt_gap
from svmreduce.data.synthetic import make
from svmreduce.errors import InputError
from svmreduce.solvers._first_rows import rows_in_order
from svmreduce.solvers.decomposition import DecompositionSVC, DecompositionSVR
from svmreduce.solvers.incremental import LATE, MOST_ROWS, Incremental, _Inverse, _Path
from svmreduce.solvers.smo import SMO

FIRST = ["random", "file", "mahalanobis", "kernel_mahalanobis"]
KERNELS = [{"gamma": 0.3}, {"kernel": "linear"}, {"kernel": "poly", "gamma": 0.2, "coef0": 1.0, "degree": 2}]


def cloud(rows=400, features=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    return rng.normal(size=(rows, features)) + 1.5 * np.eye(classes, features)[y], y


@pytest.mark.parametrize("solver", [DecompositionSVC, Incremental])
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.get("kernel", "rbf"))
def test_any_first_rows_lead_to_the_optimum_of_smo(solver, first, kernel):
    X, y = cloud()
    fitted = solver(C=2, first=first, tol=1e-5, **kernel).fit(X, y)
    reference = SMO(C=2, tol=1e-6, **kernel).fit(X, y)
    assert fitted.converged_ and fitted.gap_ <= 1e-5
    assert fitted.objective_ == pytest.approx(reference.objective_, rel=1e-6)
    np.testing.assert_allclose(fitted.decision_function(X), reference.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("first", [*FIRST, "oracle"])
def test_regression_reaches_the_optimum_of_libsvm(first):
    data = make("sinc_times_pi", 500, seed=0)
    for rows in (data.X, sparse.csr_matrix(data.X)):
        fitted = DecompositionSVR(C=3, epsilon=0.2, gamma=0.5, first=first, working_set=30, tol=1e-5).fit(rows, data.y)
        oracle = SVR(C=3, epsilon=0.2, gamma=0.5, tol=1e-6).fit(rows, data.y)
        assert fitted.converged_
        np.testing.assert_allclose(fitted.predict(rows), oracle.predict(rows), atol=1e-3)


def test_weights_of_a_regression_are_repetitions():
    data = make("sinc_times_pi", 150, seed=1)
    times = np.random.default_rng(0).integers(1, 4, 150)
    settings = {"C": 1, "gamma": 0.5, "tol": 1e-6}
    weighted = DecompositionSVR(**settings).fit(data.X, data.y, sample_weight=times)
    repeated = DecompositionSVR(**settings).fit(np.repeat(data.X, times, axis=0), np.repeat(data.y, times))
    np.testing.assert_allclose(weighted.predict(data.X), repeated.predict(data.X), atol=1e-4)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)


def test_the_first_working_set_reaches_the_engine(monkeypatch):
    given = {}
    solve = smo_engine.solve
    monkeypatch.setattr(
        "svmreduce.core.smo_engine.solve", lambda *rows, **options: given.update(options) or solve(*rows, **options)
    )
    X, y = cloud()
    fitted = DecompositionSVC(first="mahalanobis", working_set=10).fit(X, y)
    expected = rows_in_order("mahalanobis", X, (y > 0).astype(np.int64), fitted.model_.kernel)
    assert np.array_equal(given["first"], expected[:10])


def test_rows_come_in_turn_from_every_group_by_rank():
    X, y = cloud(300, classes=3)
    for first in FIRST:
        order = rows_in_order(first, X, y, SMO(gamma=0.5).fit(X, y).model_.kernel)
        assert sorted(order) == list(range(300))
        assert y[order[:30]].tolist() == [0, 1, 2] * 10
    from svmreduce.reducers.mahalanobis import Cloud, squared_distances

    order = rows_in_order("mahalanobis", X, y, None)
    distance = squared_distances(Cloud(X), y)
    assert np.all(np.diff(distance[order[y[order] == 1]]) <= 0)


def test_the_incremental_svm_is_optimal_after_every_row():
    X, y = cloud(80, seed=3)
    sign, box = np.where(y == 1, 1.0, -1.0), np.full(80, 3.0)
    K = kernel_matrix(SMO(gamma=0.4).fit(X, y).model_.kernel, X, X)
    path = _Path(K, sign, box)
    for seen, row in enumerate(np.random.default_rng(0).permutation(80), start=1):
        path.learn(row, 10_000)
        known = np.sort(path.rows[: path.seen])
        assert known.size == seen
        if len(set(sign[known])) == 2:
            beta = path.result(1e-5, 0).beta[known]
            v = sign[known] - K[np.ix_(known, known)] @ beta
            low, high = np.where(sign > 0, 0.0, -box)[known], np.where(sign > 0, box, 0.0)[known]
            assert kkt_gap(v, beta, low, high) <= 1e-5


def test_the_incremental_svm_counts_every_change_of_sides():
    """Two rows of each class, far apart: b moves until a row is on the margin, then each side's α grows to its end."""
    X, y = np.array([[-1.0], [1.0]]), [0, 1]
    fitted = Incremental(C=10, kernel="linear").fit(X, y)
    np.testing.assert_allclose(fitted.decision_function(X), [-1, 1], atol=1e-6)
    np.testing.assert_allclose(np.sort(fitted.dual_coef_[0]), [-0.5, 0.5], atol=1e-6)
    assert 2 <= fitted.n_iter_ <= 4


def test_the_incremental_svm_on_equal_and_contradicting_rows():
    X, y = cloud(60)
    X, y = np.vstack([X, X, X[:10]]), np.concatenate([y, y, 1 - y[:10]])
    fitted = Incremental(C=1, gamma=0.5).fit(X, y)
    oracle = SVC(C=1, gamma=0.5, tol=1e-6).fit(X, y)
    assert fitted.converged_
    np.testing.assert_allclose(fitted.decision_function(X), oracle.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("C", [0.7, 10])
def test_the_incremental_svm_where_most_rows_are_on_the_margin(C):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(250, 68)), rng.integers(0, 2, 250)
    fitted = Incremental(C=C, gamma=1 / 68, tol=1e-6).fit(X, y)
    assert fitted.converged_
    assert fitted.objective_ == pytest.approx(SMO(C=C, gamma=1 / 68, tol=1e-7).fit(X, y).objective_, rel=1e-8)


def test_large_kernel_values_need_no_new_inverse(monkeypatch):
    """What an equation may be off is in units of the kernel's values."""
    inversions = []
    monkeypatch.setattr(_Path, "_invert", lambda path: inversions.append(path))
    X, y = cloud(300, features=20)
    settings = {"kernel": "poly", "gamma": 1, "coef0": 100, "degree": 2, "C": 1e-2}
    fitted = Incremental(tol=1e-3, **settings).fit(10 * X, y)
    assert fitted.converged_ and not inversions
    reference = SMO(tol=1e-5, **settings).fit(10 * X, y)
    assert fitted.objective_ == pytest.approx(reference.objective_, rel=1e-6)


@given(st.integers(0, 10**6), st.lists(st.booleans(), min_size=1, max_size=3 * LATE))
@settings(max_examples=30, deadline=None)
def test_an_inverse_grows_and_shrinks(seed, steps):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(len(steps) + 2, 2 * len(steps) + 4))
    A, kept = root @ root.T, [0]
    inverse = _Inverse(len(A))
    inverse.set(np.array([[1 / A[0, 0]]]))
    for new, grows in enumerate(steps, start=1):
        if grows or len(kept) == 1:
            answer = -(inverse @ A[new, kept])
            inverse.append(np.append(answer, 1.0), 1 / (A[new, new] + A[new, kept] @ answer))
            kept.append(new)
        else:
            k = rng.integers(len(kept))
            inverse.remove(k, inverse.column(k))
            kept[k] = kept[-1]
            kept.pop()
    expected = np.linalg.inv(A[np.ix_(kept, kept)])
    for k in range(len(kept)):
        np.testing.assert_allclose(inverse.column(k), expected[k], atol=1e-9 * np.abs(expected).max())
    v = rng.normal(size=len(kept))
    np.testing.assert_allclose(inverse @ v, expected @ v, atol=1e-9 * np.abs(expected).max() * np.abs(v).sum())


def test_the_incremental_svm_is_for_small_data():
    X = np.zeros((MOST_ROWS + 1, 1))
    message = f"takes up to {MOST_ROWS} rows, got {MOST_ROWS + 1}; reduce them first, or use smo"
    with pytest.raises(InputError, match=message):
        Incremental().fit(X, np.arange(MOST_ROWS + 1) % 2)
    with pytest.raises(InputError, match="unknown kernel of Incremental 'sigmoid'"):
        Incremental(kernel="sigmoid").fit(*cloud(20))


@pytest.mark.parametrize("first", ["random", "mahalanobis"])
def test_kernel_values_without_end_are_refused(first):
    X = 1e160 * np.random.default_rng(0).normal(size=(6, 3))
    with pytest.raises(InputError, match="too large to optimise: scale the data"):
        Incremental(first=first, kernel="linear").fit(X, np.arange(6) % 2)


def test_kernel_values_of_zero_can_be_ranked():
    Incremental(first="kernel_mahalanobis", kernel="linear").fit(np.zeros((10, 2)), np.arange(10) % 2)
