from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from svmreduce.data import splitting
from svmreduce.errors import InputError
from svmreduce.types import Dataset, Split


def numbered(rows=97, task="classification"):
    """Rows that carry their own number in column 0, classes 3 : 1."""
    X = np.column_stack([np.arange(rows, dtype=float), np.random.default_rng(0).normal(size=rows)])
    y = np.where(np.arange(rows) % 4 == 0, 1.0, -1.0)
    return Dataset(X, y, "numbered", task)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_folds_test_every_row_once_and_never_train_on_it(task):
    dataset = numbered(task=task)
    splits = list(splitting.folds(dataset, 5, seed=3))
    assert [split.fold for split in splits] == [0, 1, 2, 3, 4]
    tested = np.concatenate([split.test.X[:, 0] for split in splits])
    np.testing.assert_array_equal(np.sort(tested), np.arange(97))
    for split in splits:
        both = np.concatenate([split.train.X[:, 0], split.test.X[:, 0]])
        np.testing.assert_array_equal(np.sort(both), np.arange(97))
        np.testing.assert_array_equal(split.test.y, dataset.y[split.test.X[:, 0].astype(int)])


def test_folds_keep_class_shares_within_one_row():
    for split in splitting.folds(numbered(), 5):
        assert abs((split.test.y > 0).sum() - 25 / 5) <= 1


def test_the_seed_decides_the_folds():
    def first_test(seed):
        return next(splitting.folds(numbered(), 4, seed=seed)).test.X[:, 0]

    np.testing.assert_array_equal(first_test(1), first_test(1))
    assert not np.array_equal(first_test(1), first_test(2))


def test_too_few_rows_of_a_class():
    dataset = numbered(12)  # three positive rows
    with pytest.raises(InputError, match="4 folds: 4 rows of each class are needed, but class 1 has 3"):
        list(splitting.folds(dataset, 4))
    with pytest.raises(InputError, match="13 folds of 12 rows"):
        list(splitting.folds(dataset, 13))


def test_holdout_share_and_disjoint_rows():
    split = splitting.holdout(numbered(100), 0.3, seed=1)
    assert (split.train.n_rows, split.test.n_rows) == (70, 30)
    assert not set(split.train.X[:, 0]) & set(split.test.X[:, 0])
    assert (np.diff(split.train.X[:, 0]) > 0).all()
    with pytest.raises(InputError, match="between 0 and 1"):
        splitting.holdout(numbered(), 1.5)


def test_given_test_wants_equal_columns():
    train = numbered()
    with pytest.raises(InputError, match="2 columns for training, 1 for testing"):
        splitting.given_test(train, replace(train, X=train.X[:, :1]))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_scaling_is_learned_on_training_rows_only(as_sparse):
    train, test = numbered(50), numbered(20)
    wild = replace(test, X=test.X * 1000 - 5e5)
    if as_sparse:
        train, test, wild = (replace(part, X=sparse.csr_matrix(part.X)) for part in (train, test, wild))
    calm_split = splitting.scale_split(Split(train, test), "zero_one")
    wild_split = splitting.scale_split(Split(train, wild), "zero_one")
    np.testing.assert_array_equal(calm_split.train.X, wild_split.train.X)
    assert calm_split.train.X.max() == 1
    # row number 19 of 0 … 49 in training keeps that place when it is a test row
    assert calm_split.test.X[19, 0] == pytest.approx(19 / 49)
    assert wild_split.test.X.min() < -1000
    np.testing.assert_array_equal(calm_split.test.y, test.y)


def test_folds_in_file_order_are_runs_of_rows():
    data = Dataset(np.arange(23.0)[:, None], np.arange(23) % 2)
    tests = [split.test.X[:, 0] for split in splitting.folds(data, 5, seed=None)]
    assert np.array_equal(np.concatenate(tests), np.arange(23.0))
