"""The methods that ``bench`` tries."""

import numpy as np
import pytest

from svmreduce.errors import InputError
from svmreduce.experiments import chosen_point
from svmreduce.experiments.candidates import bench_config, check_names
from svmreduce.types import Dataset

DATA = {"generator": "checkerboard", "rows": 100, "test_rows": 100}


def test_methods_of_ones_own_are_solvers_or_reducers():
    words = ("svmreduce.reducers.random:RandomSample,share=0.5", "sklearn.svm:SVC", "mahalanobis")
    solvers = bench_config("bench-x", DATA, "classification", {"C": 1.0}, more=words, only=True).solvers
    reducers = {entry.as_: entry.reducer and entry.reducer.name for entry in solvers[2:]}
    assert reducers == {words[0]: words[0].split(",")[0], words[1]: None, words[2]: words[2]}


def test_a_name_that_is_neither_is_refused():
    with pytest.raises(InputError, match="No module named"):
        check_names(("nowhere:Method",))


def test_a_regression_is_searched_around_its_choice_on_larger_samples(monkeypatch):
    monkeypatch.setattr(chosen_point, "_WHOLE", 0.0)
    X = np.random.default_rng(0).normal(size=(1001, 2))
    data = Dataset(X, np.sin(X[:, 0]) + X[:, 1], "waves", task="regression")
    found = chosen_point.choose_point(data, 100.0, given={"gamma": 0.5})
    assert found.params["C"] > 0 and found.params["gamma"] == 0.5 and found.rows == 1001
