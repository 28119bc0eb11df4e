"""The representative set: its certificate, from first principles, and the facts of the paper."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize, nnls

from svmreduce.aesvm import AESVC
from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.data.formats import load_dataset
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.reducers.derive_rs import DeriveRS
from svmreduce.solvers.smo import SMO

KERNELS = [
    KernelSpec("rbf", 0.5),
    KernelSpec("poly", 1.0, 1.0, 2),
    KernelSpec("linear"),
    KernelSpec("kmod", 0.5, 1.0),
]


def _reducer(kernel, **options):
    return DeriveRS(kernel=kernel.name, gamma=kernel.gamma, coef0=kernel.coef0, degree=kernel.degree, **options)


def distance_to_hull(K_ss, k_x, k_xx):
    """min ||φ(x) − Σ μ φ(s)||² over the simplex by a general-purpose solver."""
    n = len(k_x)
    answer = minimize(
        lambda mu: mu @ K_ss @ mu - 2 * mu @ k_x + k_xx,
        np.full(n, 1 / n),
        jac=lambda mu: 2 * (K_ss @ mu - k_x),
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda mu: mu.sum() - 1, "jac": lambda mu: np.ones(n)},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return answer.fun


def _blobs(n, d=2, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, d)) + 1.5 * np.eye(classes, d)[y], y


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_dropped_rows_are_near_the_hull_of_kept_rows_and_kept_rows_are_not(kernel, form):
    """The certificate against an independent solver, in one cell per class, where all can be checked."""
    X, y = _blobs(60, 3, seed=1)
    epsilon = 0.05
    kept = _reducer(kernel, epsilon=epsilon).fit_reduce(form(X), y)
    assert kept.info["residual_max"] <= epsilon
    K = kernel_matrix(kernel, X, X)
    for label in (0, 1):
        own = kept.indices[y[kept.indices] == label]
        for x in np.setdiff1d(np.flatnonzero(y == label), own):
            assert distance_to_hull(K[np.ix_(own, own)], K[x, own], K[x, x]) <= epsilon * 1.001
    assert 0 < len(kept.indices) < len(y)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(2, 60),
    d=st.integers(1, 4),
    classes=st.integers(1, 3),
    V=st.integers(1, 70),
    epsilon=st.sampled_from([0.0, 1e-4, 1e-2, 0.3]),
    first_level=st.sampled_from(["fls1", "fls2"]),
    grid=st.booleans(),
    seed=st.integers(0, 99),
)
def test_facts_that_always_hold(n, d, classes, V, epsilon, first_level, grid, seed):
    X, y = _blobs(n, max(d, classes), classes, seed)
    if grid:
        X = np.round(X)  # equal rows and equal distances
    kernel = KERNELS[seed % len(KERNELS)]
    kept = _reducer(kernel, epsilon=epsilon, V=V, P=V + seed, first_level=first_level).fit_reduce(X, y)
    assert np.array_equal(kept.X, X[kept.indices]) and np.array_equal(kept.y, y[kept.indices])
    assert np.all(np.diff(kept.indices) > 0)
    assert kept.sample_weight.min() >= 1.0
    for label in np.unique(y):
        assert kept.sample_weight[kept.y == label].sum() == pytest.approx(np.sum(y == label), rel=1e-9)
    assert 0 <= kept.info["residual_max"] <= epsilon
    if V == 1 and epsilon > 0:
        assert len(kept.indices) == n
    if epsilon == 0:
        assert len(kept.indices) == len(np.unique(np.column_stack([X, y]), axis=0))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("d", [2, 25])
def test_without_tolerance_every_distinct_row_stays_and_the_svm_is_the_svm(form, d):
    X, y = _blobs(150, d, seed=2)
    X, y = np.vstack([X, X[:40]]), np.concatenate([y, y[:40]])
    reduced = DeriveRS(gamma=0.5, epsilon=0.0).fit_reduce(form(X), y)
    assert len(reduced.indices) == 150
    expected = SMO(C=3.0, gamma=0.5, tol=1e-6).fit(form(X), y)
    ours = AESVC(C=3.0, gamma=0.5, tol=1e-6, epsilon=0.0).fit(form(X), y)
    assert ours.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    assert_allclose(ours.decision_function(form(X)), expected.decision_function(form(X)), atol=1e-4)


def _true_residuals(gamma, X, y, kept):
    """Squared distances from dropped rows to points in the hull of their class's kept rows, all in double by
    differences. The points are nearly the nearest: by non-negative least squares, where a heavy row asks for sum 1."""
    K = np.exp(-gamma * np.array([np.square(X - x).sum(axis=1) for x in X]))
    for label in np.unique(y):
        own = kept.indices[y[kept.indices] == label]
        lengths, axes = np.linalg.eigh(K[np.ix_(own, own)])
        roots = np.sqrt(np.maximum(lengths, 1e-12))
        system = np.vstack([roots[:, None] * axes.T, np.full(len(own), 1e3)])
        for x in np.setdiff1d(np.flatnonzero(y == label), own):
            mu, _ = nnls(system, np.append(axes.T @ K[x, own] / roots, 1e3))
            mu /= mu.sum()
            yield mu @ K[np.ix_(own, own)] @ mu - 2 * mu @ K[x, own] + K[x, x]


def _clusters(d, spread, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, d))[rng.integers(0, 6, 120)] * spread + np.sqrt(0.08 / d) * rng.normal(size=(120, d))
    return X, np.arange(120) % 2


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("spread", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("d", [2, 20])
def test_the_certificate_holds_where_squared_lengths_cancel(d, spread, form):
    """Clusters far apart: distances within one are lost in float32 products of whole rows."""
    X, y = _clusters(d, spread)
    kept = DeriveRS(gamma=0.5, epsilon=0.05).fit_reduce(form(X), y)
    assert len(kept.indices) < 120
    assert max(_true_residuals(0.5, X, y, kept)) <= 0.05 * 1.001


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "kmod"])
@pytest.mark.parametrize("factor", [2.0**-80, 2.0**80, 2.0**200])
def test_the_unit_of_measurement_does_not_matter(kernel, factor, form):
    """gamma="scale" follows the data's size, so the reduction does not see it, however small or large."""
    X, y = _blobs(200, 3, seed=9)
    first = DeriveRS(kernel=kernel, epsilon=0.02).fit_reduce(form(X), y)
    second = DeriveRS(kernel=kernel, epsilon=0.02).fit_reduce(form(X * factor), y)
    assert np.array_equal(first.indices, second.indices)
    assert_allclose(first.sample_weight, second.sample_weight, rtol=1e-6)
    assert len(first.indices) < 200


def test_negative_kernel_values_keep_the_bound():
    """With coef0 < 0 every k(x, x) of this sigmoid kernel is negative."""
    X, y = _blobs(100, seed=10)
    kernel = KernelSpec("sigmoid", 0.01, -1.0)
    kept = _reducer(kernel, epsilon=1e-3).fit_reduce(X, y)
    assert kernel_matrix(kernel, X, X).diagonal().max() < 0
    assert kept.info["residual_max"] <= 1e-3 and kept.sample_weight.sum() == pytest.approx(100)


def test_repeated_entries_of_sparse_rows_add_up():
    X, y = _blobs(80, 3, seed=11)
    whole = sparse.csr_matrix(X)
    twice = sparse.csr_matrix((np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), whole.indptr * 2), X.shape)
    first, second = (DeriveRS(gamma=0.5).fit_reduce(rows, y) for rows in (whole, twice))
    assert np.array_equal(first.indices, second.indices)
    assert_allclose(first.X.toarray(), second.X.toarray())


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_without_tolerance_near_rows_stay_where_rounding_would_hide_them(kernel, form):
    X = np.arange(200.0)[:, None] + 1e8
    X[0] = 1e14
    X = np.vstack([X, X[5:10]])
    kept = DeriveRS(kernel=kernel, gamma=1.0, epsilon=0.0).fit_reduce(form(X), np.arange(205) % 5)
    assert kept.info["residual_max"] == 0.0 and np.array_equal(kept.indices, np.arange(200))
    assert kept.sample_weight[5:10].tolist() == [2] * 5 and kept.sample_weight.sum() == 205


def _primal(fitted, X, y, weights, C):
    """½||w||² + C Σ weight·hinge, and ||w||, of a fitted machine, from its own definition."""
    coef, vectors = fitted.dual_coef_.ravel(), fitted.support_vectors_
    squared = coef @ kernel_matrix(KernelSpec("rbf", 1.0), vectors, vectors) @ coef
    margins = np.where(y == fitted.classes_[1], 1, -1) * fitted.decision_function(X)
    return squared / 2 + C * weights @ np.maximum(0, 1 - margins), np.sqrt(squared)


@pytest.mark.parametrize("epsilon", [1e-3, 1e-2, 1e-1])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_what_the_representative_set_says_of_all_rows(epsilon, C):
    """The step of the paper's proof: the same w on all rows costs at most C·||w||·√ε more per row dropped.

    A dropped row's hinge is at most that of its mixture plus |w·τ|, and a mixture's hinge at most the mixture of
    hinges. (Corollary 3 itself, far looser, follows with the most that ||w|| can be.)
    """
    X, y = _blobs(300, seed=3)
    kept = DeriveRS(gamma=1.0, epsilon=epsilon).fit_reduce(X, y)
    fitted = SMO(C=C, gamma=1.0, tol=1e-6).fit(kept.X, kept.y, sample_weight=kept.sample_weight)
    on_all, length = _primal(fitted, X, y, np.ones(300), C)
    on_kept, _ = _primal(fitted, kept.X, kept.y, kept.sample_weight, C)
    dropped = 300 - len(kept.indices)
    assert dropped > 0 and on_all - on_kept <= C * length * np.sqrt(kept.info["residual_max"]) * dropped
    full = SMO(C=C, gamma=1.0, tol=1e-6).fit(X, y)
    assert -full.objective_ <= on_all * (1 + 1e-6)
    # Corollary 3, with the paper's C, whose C/N is ours; strong duality: primal optimum = −(dual objective)
    assert -full.objective_ - on_kept <= 300 * C * np.sqrt(300 * C * epsilon)


def test_row_order_changes_nothing_but_order_in_one_cell():
    X, y = _blobs(200, seed=4)
    order = np.random.default_rng(0).permutation(200)
    first = DeriveRS(gamma=1.0).fit_reduce(X, y)
    second = DeriveRS(gamma=1.0).fit_reduce(X[order], y[order])
    back = np.argsort(order[second.indices])
    assert np.array_equal(first.indices, order[second.indices][back])
    assert_allclose(first.sample_weight, second.sample_weight[back], rtol=1e-6)


def test_any_thread_count_gives_the_same_rows():
    X, y = _blobs(3000, seed=5)
    results = [DeriveRS(gamma=1.0, V=100, P=700, threads=threads).fit_reduce(X, y) for threads in (1, 2, 5)]
    for other in results[1:]:
        assert np.array_equal(results[0].indices, other.indices)
        assert np.array_equal(results[0].sample_weight, other.sample_weight)
    assert results[0].info["cells"] >= 30


def test_input_weights_are_shared_out():
    """A row of weight three is three equal rows."""
    X, y = _blobs(120, seed=6)
    weights = np.where(np.arange(120) % 2, 3.0, 1.0)
    weighted = AESVC(C=1.0, gamma=1.0, tol=1e-6).fit(X, y, sample_weight=weights)
    times = weights.astype(int)
    repeated = AESVC(C=1.0, gamma=1.0, tol=1e-6, V=400).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=0.02)
    assert np.mean(weighted.predict(X) == repeated.predict(X)) > 0.97


def test_support_points_at_rows_of_the_input():
    X, y = _blobs(400, 3, 3, seed=7)
    fitted = AESVC(gamma=0.5).fit(X, y)
    assert np.array_equal(X[fitted.support_], fitted.support_vectors_)
    assert fitted.reduction_.n_rows < 400
    assert fitted.seconds_["reduce"] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must be a number >= 0"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"V": 0}, "V must be a whole number from 1 to 20000"),
        ({"V": 10**6}, "V must be a whole number from 1 to 20000"),
        ({"P": 10, "V": 20}, "P must be at least V"),
        ({"first_level": "fls3"}, "first_level must be"),
        ({"kernel": "rfb"}, "did you mean 'rbf'"),
    ],
)
def test_impossible_parameters_are_refused(options, message):
    X, y = _blobs(30)
    with pytest.raises(InputError, match=message):
        DeriveRS(**options).fit_reduce(X, y)


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "g", "epsilon", "printed"),
    [
        ("ijcnn1", 2**-4, 1e-2, 5.6),
        ("ijcnn1", 1.0, 1e-2, 42.1),
        ("ijcnn1", 4.0, 1e-2, 71.0),
        ("ijcnn1", 2**-4, 1e-3, 25.8),
        ("a9a", 1.0, 1e-2, 83.1),
        ("a9a", 4.0, 1e-2, 86.0),
        ("w8a", 1.0, 1e-2, 72.8),
        ("w8a", 4.0, 1e-2, 76.1),
    ],
)
def test_kept_share_is_the_printed_one(real_file, name, g, epsilon, printed):
    """Tables 2 and 3 of the paper, within 1.5 points."""
    data = load_dataset(real_file(name))
    kept = DeriveRS(gamma=g, epsilon=epsilon).fit_reduce(data.X, data.y)
    assert 100 * len(kept.indices) / data.n_rows == pytest.approx(printed, abs=1.5)
    assert kept.sample_weight.sum() == pytest.approx(data.n_rows, rel=1e-12)
    assert kept.sample_weight.min() >= 1
    assert kept.info["residual_max"] <= epsilon


@pytest.mark.parametrize(
    ("kernel", "size", "message"),
    [
        ("linear", 1e8, "scale the data, or give a larger epsilon"),
        ("linear", 1e160, "too large for double precision: scale the data"),
        ("poly", 1e80, "too large for double precision: scale the data"),
        ("poly", 1e10, "scale the data, or give a larger epsilon"),
    ],
)
def test_an_epsilon_below_rounding_is_refused_rather_than_broken(kernel, size, message):
    X = size * np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(InputError, match=message):
        DeriveRS(kernel=kernel, gamma=1.0, epsilon=1e-2).fit_reduce(X, np.arange(60) % 2)


def test_data_too_large_for_their_own_variance():
    with pytest.raises(InputError, match="gamma='scale' needs the variance of the data"):
        DeriveRS().fit_reduce(1e200 * np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2)


def test_targets_that_are_no_classes_are_refused():
    with pytest.raises(ValueError, match="continuous"):
        DeriveRS().fit_reduce(np.random.default_rng(0).normal(size=(20, 2)), np.linspace(0, 1, 20))
