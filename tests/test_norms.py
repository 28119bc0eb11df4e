"""Norms learned from rows: distances by their definition, the scale of gamma, and rows that have no covariance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.covariance import ledoit_wolf

from svmreduce.norms import NORMS, learn_norm


def _rows(n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3
    X[rng.random(X.shape) < 0.3] = 0
    return X


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_distances_are_those_of_the_definition_up_to_one_scale(form):
    X = _rows()
    deviation = X.std(axis=0)
    correlation = ledoit_wolf(X / deviation)[0]
    inverse = {
        "diagonal": np.diag(deviation**-2),
        "mahalanobis": np.linalg.inv(correlation) / np.outer(deviation, deviation),
    }
    for name in NORMS:
        mapped = learn_norm(name, form(X)).mapped(form(X))
        mapped = mapped.toarray() if sparse.issparse(mapped) else mapped
        found, expected = cdist(mapped, mapped), cdist(X, X, "mahalanobis", VI=inverse[name])
        assert_allclose(found / found.max(), expected / expected.max(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("factor", [1.0, 100.0])
def test_gamma_keeps_its_meaning(name, factor):
    """The mean squared distance is that of the Euclidean norm, whatever the units."""
    X = _rows(2000) * factor
    mapped = learn_norm(name, X).mapped(X)
    assert mapped.var(axis=0).sum() == pytest.approx(X.var(axis=0).sum(), rel=1e-2)


@pytest.mark.parametrize("name", NORMS)
def test_the_units_of_columns_do_not_matter(name):
    X, units = _rows(), np.array([1.0, 1e3, 1e-2, 7.0])
    one, other = (learn_norm(name, rows).mapped(rows) for rows in (X, X * units))
    first, second = cdist(one, one), cdist(other, other)
    assert_allclose(first / first.max(), second / second.max(), atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize(
    "X",
    [
        np.ones((5, 3)),
        np.zeros((5, 3)),
        np.eye(3, 40),
        np.hstack([_rows(), np.ones((200, 2))]),
        np.repeat(_rows(), 3, 1),
    ],
    ids=["equal rows", "zeros", "fewer rows than columns", "constant columns", "repeated columns"],
)
def test_rows_without_a_regular_covariance(form, name, X):
    mapped = learn_norm(name, form(X)).mapped(form(X))
    assert np.isfinite(mapped.toarray() if sparse.issparse(mapped) else mapped).all()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("name", NORMS)
def test_unknown_columns_do_not_count_and_missing_ones_are_zeros(form, name):
    X = _rows()
    norm = learn_norm(name, X)

    def mapped(rows):
        found = norm.mapped(form(rows))
        found = found.toarray() if sparse.issparse(found) else found
        return np.linalg.norm(found, axis=1)

    assert_allclose(mapped(np.hstack([X, X])), mapped(X))
    assert_allclose(mapped(X[:, :3]), mapped(X * [1, 1, 1, 0]))
