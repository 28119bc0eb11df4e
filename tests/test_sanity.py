"""Warnings that are due, and none where all is well."""

import numpy as np
import pytest
from scipy import sparse

from svmreduce.kernels import KernelSpec
from svmreduce.sanity import blind_kernel, copied_rows, unequal_columns

X = np.random.default_rng(0).normal(size=(100, 3))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_columns_of_unequal_size(form):
    assert unequal_columns(form(X)) is None
    assert unequal_columns(form(np.ones((5, 2)))) is None
    said = unequal_columns(form(X * [1, 1, 1e6]))
    assert "feature 3" in said and "--scale standard" in said
    assert "'bytes'" in unequal_columns(form(X * [1, 1, 1e6]), ["a", "b", "bytes"])
    assert unequal_columns(form(np.column_stack([X, np.full(100, 1e9)]))) is None  # does not vary


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_kernels_that_see_nothing(form):
    assert blind_kernel(KernelSpec("rbf", 0.5), form(X), 100) is None
    assert "nearly the same for all pairs" in blind_kernel(KernelSpec("rbf", 1e-8), form(X), 100)
    assert "remembers rows" in blind_kernel(KernelSpec("rbf", 1e4), form(X), 100)
    assert blind_kernel(KernelSpec("rbf", 1e4), form(X), 50) is None  # some rows are not needed
    assert blind_kernel(KernelSpec("linear"), form(X), 100) is None
    assert blind_kernel(None, form(X), None) is None


def test_vectors_are_counted_against_all_rows_where_distances_are_those_of_a_sample():
    many = np.random.default_rng(0).normal(size=(25_000, 3))
    assert "25000 of 25000 rows" in blind_kernel(KernelSpec("rbf", 1e9), many, 25_000)
    assert blind_kernel(KernelSpec("rbf", 1e9), many, 20_000) is None  # a fifth of the rows is not needed


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_copies_of_training_rows_are_noticed(layout):
    rows = np.random.default_rng(0).standard_normal((100, 5)) * (np.arange(5) > 1)
    assert copied_rows(layout(rows[:80]), layout(rows[80:])) is None
    assert copied_rows(layout(rows[:80]), layout(rows[70:])).startswith("33 % of the test rows are copies")
