from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from svmreduce.data import card_steps
from svmreduce.data.scaling import SCALERS, Scaler
from svmreduce.errors import InputError
from svmreduce.label_keys import count_labels, label_key


def some_rows(seed=0, shape=(40, 6)):
    X = np.random.default_rng(seed).normal(3, 5, shape)
    X[:, 2] = 7.0  # a constant column must not divide by zero
    return X


@pytest.mark.parametrize(("name", "low", "high"), [("zero_one", 0, 1), ("minus_one_one", -1, 1)])
def test_column_ranges_fill_the_interval(name, low, high):
    X = some_rows()
    scaled = Scaler(name).fit(X).transform(X)
    varying = [0, 1, 3, 4, 5]
    np.testing.assert_allclose(scaled[:, varying].min(axis=0), low, atol=1e-12)
    np.testing.assert_allclose(scaled[:, varying].max(axis=0), high, atol=1e-12)
    np.testing.assert_allclose(np.argsort(scaled[:, 0]), np.argsort(X[:, 0]))


@pytest.mark.parametrize("name", SCALERS)
def test_every_scaler_is_finite_on_constant_and_zero_rows(name):
    X = some_rows()
    X[3] = 0
    X[:, 4] = 0
    for rows in (X, sparse.csr_matrix(X)):
        scaled = Scaler(name).fit(rows).transform(rows)
        values = scaled.toarray() if sparse.issparse(scaled) else scaled
        assert values.shape == X.shape
        assert np.isfinite(values).all()


def test_unit_and_standard_and_max_abs_do_what_they_say():
    X = some_rows()
    lengths = np.linalg.norm(Scaler("unit").fit(X).transform(X), axis=1)
    np.testing.assert_allclose(lengths, 1)
    standard = Scaler("standard").fit(X).transform(X)
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.delete(standard, 2, axis=1).std(axis=0), 1)
    max_abs = Scaler("max_abs").fit(X).transform(X)
    np.testing.assert_allclose(max_abs, X / np.abs(X).max(axis=0))
    np.testing.assert_array_equal(Scaler("none").fit(X).transform(X), X)


@pytest.mark.parametrize("name", SCALERS)
def test_sparse_and_dense_rows_scale_alike(name):
    X = sparse.random(60, 8, density=0.4, random_state=1, format="csr")
    X.data -= 0.3
    dense = Scaler(name).fit(X.toarray()).transform(X.toarray())
    result = Scaler(name).fit(X).transform(X)
    np.testing.assert_allclose(result.toarray() if sparse.issparse(result) else result, dense, atol=1e-12)


@pytest.mark.parametrize("name", ["max_abs", "unit", "none", "zero_one"])
def test_rows_stay_sparse_when_zeros_stay_zeros(name):
    X = sparse.random(60, 8, density=0.4, random_state=1, format="csr")  # no value below 0
    scaled = Scaler(name).fit(X).transform(X)
    assert sparse.issparse(scaled)
    assert scaled.nnz == X.nnz


def test_too_large_for_dense_names_the_sparse_scaler(monkeypatch):
    X = sparse.csr_matrix(([-1.0], ([0], [0])), shape=(1000, 1000))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2**20))
    with pytest.raises(InputError, match=r"'minus_one_one' moves zeros.*'max_abs'"):
        Scaler("minus_one_one").fit(X)


def test_an_unknown_scaler_names_the_nearest():
    with pytest.raises(InputError, match="did you mean 'zero_one'"):
        Scaler("zero_one_")


def test_labels_by_name_number_and_set():
    words = np.array(["b", "a", "b", "c"])
    np.testing.assert_array_equal(card_steps.map_labels(words, {"a": 1, "b": 2, "c": 2}), [2, 1, 2, 2])
    with pytest.raises(InputError, match="label 'c'"):
        card_steps.map_labels(words, {"a": 1, "b": 2})
    numbers = np.array([1.0, 2.0, 7.0, 2.0])
    np.testing.assert_array_equal(card_steps.one_against_rest(numbers, ["2"]), [-1, 1, -1, 1])
    with pytest.raises(InputError, match="one class empty"):
        card_steps.one_against_rest(numbers, ["1", "2", "7"])
    np.testing.assert_array_equal(card_steps.rows_labelled(numbers, ["7", "1"]), [0, 2])
    assert count_labels(numbers) == {"1": 1, "2": 2, "7": 1}
    assert [label_key(label) for label in (1.0, "1", -1, 0.5, "yes.")] == [
        "1",
        "1",
        "-1",
        "0.5",
        "yes.",
    ]


@given(st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.5]), min_size=3, max_size=3), min_size=1, max_size=30))
def test_first_of_equal_rows_keeps_the_first_of_each(rows):
    X = np.array(rows)
    expected = [i for i in range(len(X)) if not any((X[i] == X[j]).all() for j in range(i))]
    np.testing.assert_array_equal(card_steps.first_of_equal_rows(X), expected)
    np.testing.assert_array_equal(card_steps.first_of_equal_rows(sparse.csr_matrix(X)), expected)


@pytest.mark.parametrize("stored", [np.array, sparse.csr_matrix])
def test_shifted_images_are_at_every_place_of_the_frame(stored):
    X = stored([[-1.0, 2.0, -1.0, -1.0], [0.0, -1.0, -1.0, 3.0]])
    shifted = card_steps.shifted_images(X, 1, -1.0).toarray().reshape(9, 2, 4, 4)
    for place in range(9):
        for image, (pixels, ink) in enumerate([({(0, 1): 3.0}, 3.0), ({(0, 0): 1.0, (1, 1): 4.0}, 5.0)]):
            frame = shifted[place, image]
            assert frame.sum() == ink
            for (row, column), value in pixels.items():
                assert frame[row + place // 3, column + place % 3] == value
    with pytest.raises(InputError, match="no square images"):
        card_steps.shifted_images(stored([[1.0, 2.0, 3.0]]), 1, 0.0)


def test_first_of_equal_rows_ignores_stored_zeros():
    X = sparse.csr_matrix(([1.0, 0.0, 1.0], [0, 1, 0], [0, 2, 3]), shape=(2, 2))
    np.testing.assert_array_equal(card_steps.first_of_equal_rows(X), [0])
    assert X.nnz == 3  # the caller's matrix is left alone


def test_without_columns():
    X = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(card_steps.without_columns(X, [1, -1]), X[:, [0, 2]])
    np.testing.assert_array_equal(card_steps.without_columns(sparse.csr_matrix(X), [1, -1]).toarray(), X[:, [0, 2]])
    with pytest.raises(InputError, match="column 4 of 4"):
        card_steps.without_columns(X, [4])
