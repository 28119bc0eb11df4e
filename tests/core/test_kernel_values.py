"""Kernel tiles against scikit-learn's pairwise kernels: every kernel, way to fill a tile, and precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_distances, pairwise_kernels

from svmreduce.core import kernel_values
from svmreduce.core.kernel_values import KernelRows, decision_function, kernel_matrix, kernel_rows
from svmreduce.core.row_parts import without_zeros
from svmreduce.core.tiles import MIXED
from svmreduce.kernels import KernelMixture, KernelSpec
from svmreduce.norms import learn_norm

KERNELS = {
    "linear": (KernelSpec("linear"), {}),
    "poly": (KernelSpec("poly", 0.3, 1.0, 3), {"gamma": 0.3, "coef0": 1.0, "degree": 3}),
    "rbf": (KernelSpec("rbf", 0.2), {"gamma": 0.2}),
    "sigmoid": (KernelSpec("sigmoid", 0.1, -0.2), {"gamma": 0.1, "coef0": -0.2}),
}


def _rows(n, d, seed, density=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < density)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [1, 7, 40])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_values_equal_scikit_learn(name, d, form):
    kernel, options = KERNELS[name]
    X, Z = _rows(70, d, 1, 0.6), _rows(700, d, 2, 0.6)  # more right rows than one tile holds
    expected = pairwise_kernels(X, Z, metric=name, **options)
    assert_allclose(kernel_matrix(kernel, form(X), form(Z)), expected, rtol=1e-12, atol=1e-12)
    single = kernel_matrix(kernel, form(X), form(Z), np.float32)
    assert single.dtype == np.float32
    scale = np.abs(expected).max()
    assert_allclose(single / scale, expected / scale, atol=2e-6)
    coef = _rows(700, 3, 3)
    assert_allclose(decision_function(kernel, form(X), form(Z), coef), expected @ coef, rtol=1e-10, atol=1e-10)


def _kmod(X, Z, gamma, coef0):
    """KMOD by its original definition, a·(exp(γ/(||x-z||² + σ²)) - 1) with σ² = 1/gamma, γ = coef0/gamma."""
    squared = pairwise_distances(X, Z, "sqeuclidean")
    if coef0 == 0:
        return 1 / (1 + gamma * squared)
    return np.expm1(coef0 / gamma / (squared + 1 / gamma)) / np.expm1(coef0)


@pytest.mark.parametrize("coef0", [0.0, 1e-9, 1e-3, 2e-3, 1.0, 50.0])
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_kmod_by_its_definition(coef0, d, form):
    X, Z = _rows(70, d, 1, 0.6), _rows(600, d, 2, 0.6)
    expected, kernel = _kmod(X, Z, 0.1, coef0), KernelSpec("kmod", 0.1, coef0)
    assert_allclose(kernel_matrix(kernel, form(X), form(Z)), expected, atol=1e-12)
    assert_allclose(kernel_matrix(kernel, form(X), form(Z), np.float32), expected, atol=2e-6 * max(1, coef0))
    assert_allclose(KernelRows(kernel, form(X)).diagonal(), 1.0)


def test_kmod_falls_with_the_distance_and_is_positive_definite():
    X = _rows(80, 2, 1)
    for coef0 in (0.0, 1.0, 700.0, 1e4):
        along = kernel_matrix(KernelSpec("kmod", 1.0, coef0), np.zeros((1, 1)), np.linspace(0, 3, 50)[:, None])[0]
        assert along[0] == pytest.approx(1) and (np.diff(along) <= 1e-300).all() and (along >= 0).all()
        assert np.linalg.eigvalsh(kernel_matrix(KernelSpec("kmod", 1.0, coef0), X, X)).min() > -1e-12


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_mixture_is_the_weighted_sum_of_its_parts(form):
    X, Z = _rows(300, 5, 1, 0.6), _rows(700, 5, 2, 0.6)  # more left rows than one band
    norm = learn_norm("mahalanobis", Z)
    parts = (KernelSpec("rbf", 0.2, norm=norm), KernelSpec("poly", 0.3, 1.0, 2), KernelSpec("kmod", 0.5, 1.0))
    mixture = KernelMixture(parts, (0.5, 0.3, 0.2))
    expected = sum(
        weight * kernel_matrix(part, form(X), form(Z)) for weight, part in zip(mixture.weights, parts, strict=True)
    )
    assert_allclose(kernel_matrix(mixture, form(X), form(Z)), expected, rtol=1e-12)
    coef = _rows(700, 2, 3)
    assert_allclose(decision_function(mixture, form(X), form(Z), coef), expected @ coef, rtol=1e-9, atol=1e-9)
    rows = kernel_rows(mixture, form(X), np.float64)
    assert_allclose(rows.diagonal(), np.diag(kernel_matrix(mixture, form(X), form(X))), rtol=1e-12)
    some, stride = np.array([4, 2, 290]), 9  # into a larger block, as a solver has it
    block = np.full(3 * stride, -7.0)
    rows.block(some, rows, some[:2], block, stride)
    assert_allclose(block.reshape(3, stride)[:, :2], kernel_matrix(mixture, form(X[some]), form(X[some[:2]])))
    assert (block.reshape(3, stride)[:, 2:] == -7).all()


def test_dense_and_sparse_rows_may_be_mixed():
    kernel, options = KERNELS["rbf"]
    X, Z = _rows(5, 4, 1), _rows(6, 4, 2, 0.5)
    assert_allclose(kernel_matrix(kernel, X, sparse.csr_matrix(Z)), pairwise_kernels(X, Z, metric="rbf", **options))


def test_far_from_the_origin_rbf_keeps_its_digits():
    """Squared distances by a product cancel; centring is what keeps float32 usable."""
    X = _rows(50, 40, 1) + 1e3
    kernel = KernelSpec("rbf", 0.02)
    expected = pairwise_kernels(X - 1e3, metric="rbf", gamma=0.02)
    assert_allclose(kernel_matrix(kernel, X, X, np.float32), expected, atol=1e-6)


def test_distant_rows_underflow_to_zero():
    X = np.array([[0.0], [1e3], [1e8]])
    K = kernel_matrix(KernelSpec("rbf", 1.0), X, X)
    assert_allclose(K, np.eye(3), atol=1e-300)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_result_does_not_depend_on_threads(form):
    X = form(_rows(1000, 30, 1, 0.3))
    coef = _rows(1000, 1, 2)
    kernel = KERNELS["rbf"][0]
    one = decision_function(kernel, X, X, coef, threads=1)
    assert np.array_equal(one, decision_function(kernel, X, X, coef, threads=3))


@pytest.mark.parametrize("name", KERNELS)
def test_diagonal(name):
    kernel, options = KERNELS[name]
    X = _rows(9, 4, 1)
    rows = KernelRows(kernel, X, np.float64)
    assert_allclose(rows.diagonal(), np.diag(pairwise_kernels(X, metric=name, **options)), rtol=1e-12)


def test_rows_without_any_entry():
    X = sparse.csr_matrix((3, 5))
    assert_allclose(kernel_matrix(KERNELS["rbf"][0], X, X), 1.0)
    assert_allclose(kernel_matrix(KERNELS["linear"][0], X, X), 0.0)


def test_the_blas_thread_count_is_put_back():
    """Also when several threads evaluate kernels at once and end in any order."""
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info, threadpool_limits

    X = _rows(600, 30, 1)
    with threadpool_limits(2, user_api="blas"):
        before = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: kernel_matrix(KERNELS["rbf"][0], X, X, threads=1), range(40)))
        after = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
    assert before == after


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [3, 40, 300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_all_rows_from_half_of_the_values(name, d, form, dtype):
    kernel = KERNELS[name][0]
    X, coef = _rows(1101, d, 1, 0.3) / d**0.5, _rows(3, 1101, 2)
    rows, K = kernel_rows(kernel, form(X), dtype), kernel_matrix(kernel, X, X)
    found = rows.products_with_all(coef)
    tolerance = 2e-6 if dtype == np.float32 else 1e-13
    assert (np.abs(found - coef @ K) <= tolerance * (np.abs(coef) @ np.abs(K))).all()
    assert (found == rows.products_with_all(coef, threads=3)).all()
    assert (found[1] == rows.products_with_all(coef[1])).all()


@pytest.mark.parametrize("table", [False, True])
def test_products_of_several_coefficients_with_a_mixture_and_a_table(table):
    X, coef = _rows(90, 4, 1), _rows(2, 90, 2)
    mixture = KernelMixture((KERNELS["rbf"][0], KERNELS["poly"][0]), (0.3, 0.7))
    K = 0.3 * kernel_matrix(mixture.parts[0], X, X) + 0.7 * kernel_matrix(mixture.parts[1], X, X)
    kernel, X = (KernelSpec("precomputed"), np.column_stack([np.arange(1.0, 91.0), K])) if table else (mixture, X)
    rows = kernel_rows(kernel, X, np.float64)
    assert_allclose(rows.products_with_all(coef), coef @ K, rtol=1e-10)
    assert_allclose(rows.products_with_all(coef[0]), K @ coef[0], rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_half_a_matrix_need_little_room_and_are_the_same_in_parts(dtype, monkeypatch):
    rows, coef = kernel_rows(KERNELS["rbf"][0], _rows(1101, 5, 1), dtype), _rows(2, 1101, 2)
    found = rows.products_with_all(coef)
    monkeypatch.setattr(kernel_values, "SUMS_BYTES", 3 * coef.nbytes)
    assert (found == rows.products_with_all(coef, threads=2)).all()


@pytest.mark.parametrize("d", [3, 40, 300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_value_depends_on_its_two_rows_alone(d, form):
    X = form(_rows(600, d, 1, 0.6))
    for dtype in (np.float32, np.float64):
        K = kernel_matrix(KernelSpec("rbf", 1 / d), X, X, dtype)
        assert_allclose(K, K.T, rtol=1e-14 if dtype == np.float64 else 1e-6)
        rows = kernel_rows(KernelSpec("rbf", 1 / d), X, dtype)
        some, out = np.array([599, 3, 77]), np.empty(6, dtype)
        rows.block(some, rows, some[:2], out, 2)
        assert (out.reshape(3, 2) == K[np.ix_(some, some[:2])]).all()


def test_long_dense_rows_of_mostly_zeros_are_taken_without_them():
    kernel, X, Z = KernelSpec("rbf", 0.01), _rows(50, 300, 1), _rows(700, 300, 2, 0.2)
    assert sparse.issparse(without_zeros(kernel, Z)) and without_zeros(kernel, X) is X
    assert (without_zeros(kernel, Z) != sparse.csr_matrix(Z)).nnz == 0
    norm = learn_norm("diagonal", Z)
    assert without_zeros(KernelSpec("rbf", 0.01, norm=norm), Z) is Z
    assert_allclose(kernel_matrix(kernel, X, Z), pairwise_kernels(X, Z, metric="rbf", gamma=0.01), rtol=1e-12)


def test_long_rows_of_mostly_zeros_are_centred_where_a_column_has_an_offset():
    """Squared lengths of 1e16 would leave nothing of distances near one."""
    rng = np.random.default_rng(0)
    X = np.zeros((200, 100))
    X[np.arange(200), rng.integers(1, 100, 200)] = 1.0
    X[:, 0] = 1e8 + rng.normal(size=200)
    expected = np.exp(-0.3 * pairwise_distances(X - X.mean(axis=0)) ** 2)
    assert_allclose(kernel_matrix(KernelSpec("rbf", 0.3), X, X), expected, atol=1e-6)


def _numbers_and_words(n, seed):
    """Six columns of numbers far from zero, and two words, one-hot."""
    rng = np.random.default_rng(seed)
    words = np.eye(20)[rng.integers(0, 20, (n, 2))].reshape(n, 40)
    return np.hstack([rng.normal(5.0, 0.2, (n, 6)), words])


@pytest.mark.parametrize("name", ["rbf", "kmod"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_numbers_beside_one_hot_columns_are_held_dense_and_lose_no_digit(name, form):
    kernel, X, Z = KernelSpec(name, 8.0), _numbers_and_words(70, 1), _numbers_and_words(700, 2)
    rows = KernelRows(kernel, without_zeros(kernel, form(Z)), split=True)
    assert rows.mode == MIXED and rows.full.tolist() == list(range(6)) and rows.entries == 8
    expected = _kmod(X, Z, 8.0, 0.0) if name == "kmod" else np.exp(-8.0 * cdist(X, Z, "sqeuclidean"))
    for dtype, error in ((np.float32, 5e-7), (np.float64, 1e-13)):
        assert_allclose(kernel_matrix(kernel, form(X), form(Z), dtype), expected, atol=error, rtol=0)
    coef = _rows(700, 3, 3)
    found = decision_function(kernel, form(X), form(Z), coef, threads=2)
    assert_allclose(found, expected @ coef, rtol=1e-10, atol=1e-10)
    own, ones = kernel_matrix(kernel, Z, Z, np.float32), np.ones(700)
    assert_allclose(rows.products_with_all(ones), own @ ones, rtol=1e-5)


def test_short_rows_stay_sparse_throughout():
    X = sparse.csr_matrix(_numbers_and_words(70, 1))
    assert KernelRows(KernelSpec("rbf", 0.01), X, split=True).full is None
    assert KernelRows(KernelSpec("linear"), X, split=True).full is None
