"""What training learns about rows: exact through JSON, the same for files and DataFrames, blind to column order."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from svmreduce.data.columns import table_of_frame
from svmreduce.data.formats import load_training, read_rows, write_libsvm
from svmreduce.data.preparation import Choices, Preparation
from svmreduce.data.scaling import SCALERS, Scaler
from svmreduce.errors import DataNote, DataWarning, InputError

FRAME = pd.DataFrame(
    {
        "a": [1.5, -2.0, 3.25, 0.1],
        "c": ["red", "blue", "red", "grün"],
        "b": [10, 20, 30, 45],
        "label": ["no", "yes", "no", "yes"],
    }
)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def through_json(preparation: Preparation) -> Preparation:
    return Preparation.from_json(json.loads(json.dumps(preparation.to_json())))


@pytest.mark.parametrize("scale", SCALERS)
def test_a_table_through_json(scale):
    data, learned = Preparation.learn(table_of_frame(FRAME), Choices(scale=scale, impute="mean"))
    again = through_json(learned)
    assert again.to_json() == learned.to_json()
    np.testing.assert_array_equal(dense(again.rows(FRAME.drop(columns="label"))), dense(data.X))
    assert again.titles == ["a", "c=blue", "c=grün", "c=red", "b"]


@pytest.mark.parametrize("scale", SCALERS)
@pytest.mark.parametrize("density", [0.1, 0.9])
def test_numbered_columns_through_json(tmp_path, scale, density):
    X = sparse.random(30, 8, density, "csr", rng=np.random.default_rng(0))
    write_libsvm(tmp_path / "t", X, np.arange(30) % 2)
    data, learned = load_training(tmp_path / "t", Choices(scale=scale), n_features=8)
    np.testing.assert_array_equal(
        dense(through_json(learned).new(read_rows(tmp_path / "t"), None).X)[:, :8], dense(data.X)
    )
    expected = Scaler(scale).fit(X).transform(X)
    np.testing.assert_allclose(dense(data.X), dense(expected), rtol=1e-12, atol=1e-15)
    assert learned.is_trivial == (scale == "none")


def test_rows_of_another_width_are_brought_into_that_of_training(tmp_path):
    write_libsvm(tmp_path / "t", np.arange(1.0, 13).reshape(4, 3), np.arange(4) % 2)
    _, learned = load_training(tmp_path / "t", Choices(scale="max_abs"))
    narrow, wide = np.ones((1, 2)), np.ones((1, 5))
    np.testing.assert_array_equal(learned.rows(narrow), [[1 / 10, 1 / 11, 0]])
    with pytest.warns(DataWarning, match="2 more columns than the 3 of training, which are not used"):
        np.testing.assert_array_equal(learned.rows(wide), [[1 / 10, 1 / 11, 1 / 12]])


@settings(max_examples=40, deadline=None)
@given(st.permutations(list(FRAME.columns)), st.permutations(range(4)))
def test_the_order_of_columns_and_rows_does_not_matter(columns, rows):
    data, learned = Preparation.learn(table_of_frame(FRAME), Choices(scale="standard", label="label"))
    found = learned.new(table_of_frame(FRAME.iloc[rows][columns]), np.array(["no", "yes"]))
    np.testing.assert_array_equal(found.X, data.X[rows])
    assert found.y.tolist() == FRAME.label.iloc[rows].tolist()


def test_a_frame_is_what_its_file_is(tmp_path):
    frame = FRAME.assign(b=[1, None, 3, 4], t=[True, False, True, True], a=FRAME.a.astype(object))
    frame["c"] = frame.c.astype("category")
    frame.to_csv(tmp_path / "t.csv", index=False)
    choices = Choices(impute="median", label="label")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        from_file, _ = load_training(tmp_path / "t.csv", choices)
        from_frame, _ = Preparation.learn(table_of_frame(frame), choices)
    np.testing.assert_array_equal(dense(from_frame.X), dense(from_file.X))
    assert from_frame.y.tolist() == from_file.y.tolist()


def test_categories_alone_are_not_scaled():
    data, learned = Preparation.learn(table_of_frame(FRAME[["c", "label"]]), Choices(scale="standard"))
    assert learned.scaler is None and set(data.X.ravel()) == {0, 1}


def test_errors_of_frames_name_row_and_column():
    _, learned = Preparation.learn(table_of_frame(FRAME), Choices())
    with pytest.raises(InputError, match="DataFrame, row 2, column 'b': missing value"):
        learned.rows(FRAME.assign(b=[1, 2, None, 4]))
    with pytest.raises(InputError, match="DataFrame, row 1, column 'a': inf is not finite"):
        learned.rows(FRAME.assign(a=[1, np.inf, 2, 3]))
    with pytest.raises(InputError, match="give a DataFrame with its 3 columns"):
        learned.rows(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("chosen", "positions"),
    [
        (["a"], [0]),
        (["a,label"], [0, 3]),
        (["1-2"], [1, 2]),
        ([1, -1], [1, 3]),
        (["c-label"], [1, 2, 3]),
        (["c:b", "0"], [1, 2, 0]),
        (["-2"], [2]),
    ],
)
def test_columns_by_names_positions_and_ranges(chosen, positions):
    assert table_of_frame(FRAME).positions(chosen) == positions


def test_a_name_wins_over_a_range():
    table = table_of_frame(pd.DataFrame({"a-b": [1], "a": [2], "b": [3], "1": [4]}))
    assert table.positions(["a-b"]) == [0] and table.positions(["1"]) == [3] and table.positions(["a:b"]) == [1, 2]


def test_a_reversed_range_is_an_error():
    with pytest.raises(InputError, match="the range '1-0' ends before it begins"):
        Preparation.learn(table_of_frame(FRAME), Choices(drop=("1-0",)))


def test_booleans_in_any_spelling():
    train = pd.DataFrame({"t": ["TRUE", "FALSE", "TRUE", "FALSE"], "y": [1, 2, 1, 2]})
    _, learned = Preparation.learn(table_of_frame(train), Choices())
    for new in ([True, False], ["true", "false"], ["TRUE", "FALSE"]):
        assert dense(learned.rows(pd.DataFrame({"t": new}))).tolist() == [[0, 1], [1, 0]]


def test_names_of_the_model_are_a_header(tmp_path):
    train = pd.DataFrame({"size": ["S", "L", "S", "L"], "colour": ["red", "blue", "blue", "red"], "y": list("pqpq")})
    data, learned = Preparation.learn(table_of_frame(train), Choices())
    (tmp_path / "t").write_text("colour,y,size\nred,p,S\nblue,q,L\n")
    with pytest.warns(DataNote, match="line 1 is taken for a header: it consists of names"):
        found = learned.new(read_rows(tmp_path / "t"), np.array(["p", "q"]))
    np.testing.assert_array_equal(dense(found.X), dense(data.X)[:2])
    assert found.y.tolist() == ["p", "q"]


def test_unknown_words_among_choices():
    with pytest.raises(InputError, match="unknown scaler 'standart': did you mean 'standard'"):
        Choices(scale="standart")
    with pytest.raises(InputError, match="unknown imputation 'meen'"):
        Choices(impute="meen")
