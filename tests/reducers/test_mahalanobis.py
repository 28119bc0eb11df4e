"""Mahalanobis ranking: distances as scipy has them, the same in any units, and for any shape of data."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import mahalanobis
from sklearn.covariance import LedoitWolf

from svmreduce.core.clouds import Cloud, rank_in_group, squared_distances
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.reducers.mahalanobis import Mahalanobis, target_groups


def classes(rows=300, features=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    return rng.normal(size=(rows, features)) @ rng.normal(size=(features, features)) + 5.0 * y[:, None], y


def by_scipy(X, y):
    found = np.empty(len(y))
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        mean, inverse = X[rows].mean(axis=0), np.linalg.inv(np.cov(X[rows].T))
        found[rows] = [mahalanobis(X[row], mean, inverse) ** 2 for row in rows]
    return found


def test_distances_are_those_of_scipy():
    X, y = classes()
    for rows in (X, sparse.csr_matrix(X)):
        np.testing.assert_allclose(squared_distances(Cloud(rows), y), by_scipy(X, y), rtol=1e-9)
        np.testing.assert_allclose(squared_distances(Cloud(rows), y, "sample"), by_scipy(X, y), rtol=1e-9)


def test_the_top_of_every_class_is_kept():
    X, y = classes()
    kept = Mahalanobis(share=0.2).fit_reduce(X, y)
    distance = by_scipy(X, y)
    for label in range(3):
        rows = np.flatnonzero(y == label)
        best = rows[np.argsort(-distance[rows])[: round(0.2 * rows.size)]]
        assert set(kept.indices[kept.y == label]) == set(best)
    assert set(kept.sample_weight) == {1.0}
    assert len(Mahalanobis(rows=30).fit_reduce(X, y).y) == pytest.approx(30, abs=2)


def test_an_affine_change_of_the_inputs_changes_nothing():
    X, y = classes(seed=1)
    rng = np.random.default_rng(2)
    moved = X @ (rng.normal(size=(4, 4)) + 3 * np.eye(4)) * [1e-3, 1.0, 1e2, 1e5] + rng.normal(size=4)
    np.testing.assert_allclose(squared_distances(Cloud(moved), y), squared_distances(Cloud(X), y), rtol=1e-6)
    kept, same = (Mahalanobis(share=0.1).fit_reduce(rows, y).indices for rows in (X, moved))
    assert np.array_equal(kept, same)


def test_blocks_of_rows_add_up(monkeypatch):
    X, y = classes()
    whole = squared_distances(Cloud(X), y)
    monkeypatch.setattr("svmreduce.core.clouds.BLOCK_VALUES", 50)
    np.testing.assert_allclose(squared_distances(Cloud(X), y), whole, rtol=1e-9)


@pytest.mark.parametrize("covariance", ["auto", "sample", "ledoit_wolf", "low_rank"])
def test_directions_without_variance_do_not_count(covariance):
    X, y = classes(features=3)
    flat = np.hstack([X, X[:, :1] + X[:, 1:2], np.full((300, 1), 7.0), 2 * X[:, 2:]])
    for rows in (flat, sparse.csr_matrix(flat)):
        distance = squared_distances(Cloud(rows), y, covariance)
        assert np.isfinite(distance).all()
        if covariance in ("auto", "sample"):
            np.testing.assert_allclose(distance, by_scipy(X, y), rtol=1e-6)


def test_more_columns_than_rows_take_the_shrunk_covariance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60)) * rng.uniform(1, 10, 60)
    distance = squared_distances(Cloud(X), np.zeros(40, np.int64))
    unit = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)  # the shrinkage is that of the correlations
    shrinkage = LedoitWolf(assume_centered=True).fit(unit).shrinkage_
    correlation = (1 - shrinkage) * np.corrcoef(X.T) + shrinkage * np.eye(60)
    np.testing.assert_allclose(distance, np.einsum("ij,ij->i", unit @ np.linalg.inv(correlation), unit), rtol=1e-8)


def test_low_rank_is_exact_when_it_keeps_every_direction():
    X, _ = classes(300, 40)
    y = np.zeros(300, np.int64)
    low = squared_distances(Cloud(X), y, "low_rank")  # 39 directions, and the one that is left
    np.testing.assert_allclose(low, by_scipy(X, y), rtol=1e-6)


def test_twenty_thousand_sparse_columns():
    """Against a dense decomposition: 100 directions with their variances, the rest with the mean of theirs."""
    X = sparse.random(300, 20_000, 0.003, "csr", random_state=1)
    y = np.arange(300) % 2
    distance = squared_distances(Cloud(X), y)
    for label in (0, 1):
        dense = X[y == label].toarray()
        dense -= dense.mean(axis=0)
        squares, left = np.linalg.eigh(dense @ dense.T)
        squares, left = squares[:0:-1], left[:, :0:-1]  # the largest first; the last is that of the mean
        variance = squares / 149
        variance[100:] = variance[100:].mean()
        expected = (np.square(left) * squares / variance).sum(axis=1)
        np.testing.assert_allclose(distance[y == label], expected, rtol=1e-6)
    kept = Mahalanobis(rows=20).fit_reduce(X, y)
    assert kept.X.shape == (20, 20_000) and sparse.issparse(kept.X)
    with pytest.raises(InputError, match="a covariance matrix of 20000 columns is too large; set covariance to low_ra"):
        squared_distances(Cloud(X), y, "sample")


def test_in_the_space_of_the_kernel():
    """A ring around its own centre: far in the space of the rbf kernel means far from the ring, also inside it."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.02, (200, 2))
    X[0] = 0.0
    groups = np.zeros(200, np.int64)
    cloud = Cloud(X, KernelSpec("rbf", 2.0), components=200, random=0)
    assert np.argmin(squared_distances(Cloud(X), groups)) == 0
    assert np.argmax(squared_distances(cloud, groups)) == 0
    kept = Mahalanobis(rows=1, space="kernel", gamma=2.0, components=200).fit_reduce(X, groups)
    assert kept.indices.tolist() == [0]


def test_nystroem_features_of_a_linear_kernel_are_the_input_space():
    X, y = classes()
    X -= X.mean(axis=0)
    found = squared_distances(Cloud(X, KernelSpec("linear"), components=50, random=0), y)
    np.testing.assert_allclose(found, by_scipy(X, y), rtol=1e-6)


def test_regression_ranks_the_joint_cloud_or_bins_of_the_target():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 400)
    target = x + rng.normal(0, 0.1, 400)
    target[7] = -2.0 if x[7] > 0 else 2.0  # nothing special in x or in the target alone, but together
    assert 7 in Mahalanobis(rows=1).fit_reduce(x[:, None], target).indices
    kept = Mahalanobis(share=0.1, bins=4).fit_reduce(x[:, None], target)
    groups, extra = target_groups(target, 4)
    assert extra is None and np.bincount(groups[kept.indices]).tolist() == [10, 10, 10, 10]
    distance = by_scipy(np.column_stack([x, target]), np.zeros(400))
    joint = squared_distances(Cloud(x[:, None], target=target), np.zeros(400, np.int64))
    np.testing.assert_allclose(joint, distance, rtol=1e-9)


def test_ranks_begin_anew_in_every_group_and_ties_are_drawn():
    groups = np.array([0, 1, 0, 1, 1, 0])
    distance = np.array([1.0, 5, 3, 5, 9, 2])
    orders = {tuple(rank_in_group(distance, groups, np.random.RandomState(seed))) for seed in range(20)}
    assert orders == {(2, 1, 0, 2, 0, 1), (2, 2, 0, 1, 0, 1)}


def test_a_class_of_one_row_is_kept():
    X, y = classes()
    y[0] = 9
    assert 0 in Mahalanobis(share=0.01).fit_reduce(X, y).indices


def test_more_rows_than_there_are():
    with pytest.raises(InputError, match="rows must be between 1 and the 300 rows there are, got 301"):
        Mahalanobis(rows=301).fit_reduce(*classes())


@pytest.mark.parametrize("rows", [2, 3, 100])
def test_zeros_and_ones_in_many_columns(rows):
    """Of such data the vector of ones is exactly what centring takes away."""
    X = sparse.random(2 * rows, 5000, 0.005, random_state=0, format="csr")
    X.data[:] = 1.0
    kept = Mahalanobis(share=0.5).fit_reduce(X, np.arange(2 * rows) % 2)
    assert 2 <= len(kept.indices) <= 2 * rows
    nothing = Mahalanobis(share=0.5).fit_reduce(sparse.csr_matrix((2 * rows, 5000)), np.arange(2 * rows) % 2)
    assert len(nothing.indices) >= 2
