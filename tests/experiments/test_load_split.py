"""Rows of files in experiments: what is learned from training rows is learned in each fold anew."""

import numpy as np
import pandas as pd
import pytest

from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.errors import DataWarning, InputError
from svmreduce.experiments.load_split import training_and_test


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"id": np.arange(40) * 7, "a": random.normal(size=40), "c": random.choice(list("xy"), 40)})
    frame["kind"] = np.where(frame.a > 0, "p", "q")
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv", frame


def test_scaling_is_that_of_the_training_rows_of_the_fold(table):
    path, _ = table
    entry = {"file": str(path), "drop": ["id"], "scale": "standard"}
    tested = []
    for fold in range(4):
        split = training_and_test(entry, {"folds": 4}, None, fold, 0)
        assert split.train.X.shape == (30, 3) and split.test.X.shape == (10, 3)
        np.testing.assert_allclose([split.train.X[:, 0].mean(), split.train.X[:, 0].std()], [0, 1], atol=1e-12)
        assert abs(split.test.X[:, 0].mean()) > 1e-6
        tested += split.test.y.tolist()
    assert sorted(tested) == ["p"] * tested.count("p") + ["q"] * tested.count("q") and len(tested) == 40


def test_gaps_and_categories_are_learned_in_the_fold(table, tmp_path):
    path, frame = table
    frame = frame.assign(a=frame.a.where(frame.index != 0), c=["only here", *frame.c[1:]])
    frame.to_csv(path, index=False)
    entry = {"file": str(path), "drop": ["id"], "impute": "mean"}
    with pytest.warns(DataWarning):
        folds = [training_and_test(entry, {"folds": 4}, None, fold, 0) for fold in range(4)]
    widths = [split.train.n_features for split in folds]
    assert sorted(widths) == [3, 4, 4, 4]  # the fold that tests the row does not know its word
    with_gap = folds[widths.index(3)]
    filled = [value for value in with_gap.test.X[:, 0] if np.isclose(value, with_gap.train.X[:, 0].mean())]
    assert len(filled) == 1


def test_a_test_file_with_other_categories(table, tmp_path):
    path, frame = table
    frame.assign(c="z")[["c", "kind", "a", "id"]].to_csv(tmp_path / "test.csv", index=False)
    entry = {"file": str(path), "test": str(tmp_path / "test.csv"), "drop": ["id"], "positive": "q"}
    with pytest.warns(DataWarning, match=r"c \(40\) of 40"):
        split = training_and_test(entry, {}, "zero_one", 0, 0)
    assert split.train.X.max() == 1 and not split.test.X[:, 1:].any()
    frame.drop(columns="kind").to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(InputError, match="no labels, so nothing can be measured"):
        training_and_test(entry | {"sha256": ["another"]}, {}, "zero_one", 0, 0)


def test_libsvm_files_are_scaled_too(tmp_path):
    X = np.random.default_rng(0).random((30, 4)) + 1
    write_libsvm(tmp_path / "t", X, np.arange(30) % 2)
    split = training_and_test({"file": str(tmp_path / "t"), "scale": "zero_one"}, {"holdout": 0.3}, None, 0, 0)
    np.testing.assert_allclose([split.train.X.min(axis=0), split.train.X.max(axis=0)], [[0] * 4, [1] * 4], atol=1e-12)
    assert split.test.n_rows == 9
