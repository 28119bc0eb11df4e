"""Models that remember their rows: from Python, damaged files, and in the hands of LIBSVM's own tool."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from svmreduce import DCSVM, SMO, load_model
from svmreduce.data.columns import table_of_frame
from svmreduce.data.formats import read_rows
from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.data.preparation import Choices, Preparation
from svmreduce.errors import DataWarning, InputError
from svmreduce.model import PreparedModel
from svmreduce.solvers.liblinear import Liblinear
from svmreduce.solvers.rfeat import RfeatSVM2


def frame(rows: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, rows))
    return pd.DataFrame({"a": a, "b": 1e4 * b, "c": random.choice(list("xyz"), rows), "kind": np.where(a > 0, 1, -1)})


@pytest.fixture
def trained(tmp_path):
    """A saved model of each kind of file: its path, and the rows it was trained on."""

    def train(solver):
        data, preparation = Preparation.learn(table_of_frame(frame(80, 0)), Choices(scale="standard"))
        PreparedModel(solver.fit(data.X, data.y).model_, preparation).save(tmp_path / "model")
        return tmp_path / "model"

    return train


SOLVERS = [SMO(gamma=0.5), Liblinear(), RfeatSVM2(gamma=0.5), DCSVM(C=100, gamma=0.05, n_clusters=2)]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
def test_a_data_frame_in_any_order(trained, solver):
    model, new = load_model(trained(solver)), frame(30, 1)
    predicted = model.predict(new[["c", "kind", "b", "a"]])
    assert np.mean(predicted == new.kind) > 0.8
    np.testing.assert_array_equal(predicted, model.predict(new.drop(columns="kind")))
    X = model.preparation.rows(new)
    np.testing.assert_array_equal(model.decision_function(new), model.model.decision_function(X))
    assert model.labels is model.model.labels and model.task == "classification"


def test_what_a_frame_must_have(trained):
    model, new = load_model(trained(SMO(gamma=0.5))), frame(5, 1)
    with pytest.raises(InputError, match="1 column is missing that the model was trained on: c"):
        model.predict(new.drop(columns="c"))
    with pytest.warns(DataWarning, match=r"c \(5\) of 5"):
        model.predict(new.assign(c="other"))
    with pytest.raises(InputError, match="give a DataFrame"):
        model.predict(new[["a", "b"]].to_numpy())


DAMAGES = [('"version": 1', '"version": 2'), ('"width": 5', '"width": 6'), ('"schema"', '"shema"'), ("}\n", "\n")]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_preparation_is_an_error(trained, damage):
    path = trained(SMO(gamma=0.5))
    path.write_text(path.read_text().replace(*damage))
    with pytest.raises(InputError, match=r"model:.*the preparation of rows cannot be read .*; train again"):
        load_model(path)


@pytest.mark.skipif(shutil.which("svm-predict") is None, reason="LIBSVM's svm-predict is not installed")
def test_svm_predict_reads_the_model(trained, tmp_path):
    model, new = load_model(trained(SMO(gamma=0.5))), frame(30, 1)
    write_libsvm(tmp_path / "rows", model.preparation.rows(new), new.kind.to_numpy())
    subprocess.run(["svm-predict", "rows", "model", "out"], cwd=tmp_path, check=True, capture_output=True)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "out"), model.predict(new))


@pytest.fixture
def scaled(tmp_path):
    """Models of a table of numbers and of LIBSVM text, both scaled, and rows for them."""
    X = np.random.default_rng(0).normal(0, 100, (60, 2)).round()
    y = np.where(X[:, 0] > 0, 1, -1)
    write_libsvm(tmp_path / "rows", X, y)
    table = table_of_frame(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}))
    models = {}
    for name, raw in {"table": table, "libsvm": read_rows(tmp_path / "rows")}.items():
        data, preparation = Preparation.learn(raw, Choices(scale="standard"))
        models[name] = PreparedModel(SMO(gamma=0.5, probability=True).fit(data.X, data.y).model_, preparation)
    return models, X


@pytest.mark.parametrize("kind", ["table", "libsvm"])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_arrays_stay_as_they_are(scaled, kind, method):
    models, X = scaled
    ask = getattr(models[kind], method)
    expected = ask(X.tolist())
    for rows in (X.copy(), X.astype(int), X.astype(np.float32), sparse.csr_matrix(X)):
        before = rows.copy()
        np.testing.assert_array_equal(ask(rows), expected)
        np.testing.assert_array_equal(ask(rows), expected)
        assert (rows != before).sum() == 0 and rows.dtype == before.dtype
    assert len(ask(X[:0])) == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite(scaled, bad):
    models, X = scaled
    X[7, 1] = bad
    why = {"table": "rows, row 7, column 'b': (missing value|inf is not finite)", "libsvm": "row 7, column 1 .*finite"}
    for kind, model in models.items():
        for ask in (model.predict, model.predict_proba, model.decision_function):
            with pytest.raises(InputError, match=why[kind]):
                ask(X)
    for rows in (X, X.tolist(), sparse.csr_matrix(X)):
        with pytest.raises(InputError, match=why["libsvm"]):
            models["libsvm"].model.predict(rows)


def test_no_rows(trained):
    model, new = load_model(trained(SMO(gamma=0.5))), frame(5, 1)
    assert len(model.predict(new[:0])) == 0
