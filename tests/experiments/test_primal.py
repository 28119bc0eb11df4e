"""The primal objective over all rows: at the optimum it equals the dual one, and a reduction's is above it."""

import numpy as np
import pytest

from svmreduce.data.synthetic import make
from svmreduce.experiments import primal
from svmreduce.reducers import REDUCERS
from svmreduce.solvers import SOLVERS

ROWS = make("checkerboard", 600, [0, 0])


def fitted(name, X=ROWS.X, y=ROWS.y, **given):
    return SOLVERS.get(name)(**{"C": 10, "gamma": 2.0, "tol": 1e-6} | given).fit(X, y)


@pytest.mark.parametrize("name", ["smo", "libsvm"])
def test_strong_duality(name):
    solver = fitted(name)
    found = primal.primal_objective(solver, name, ROWS.X, ROWS.y)
    assert found["primal"] == pytest.approx(-solver.objective_, rel=1e-5) and found["primal_rows"] == 600


def test_strong_duality_of_regression():
    y = np.sin(4 * ROWS.X[:, 0])
    solver = fitted("libsvm_svr", y=y, epsilon=0.05)
    found = primal.primal_objective(solver, "libsvm_svr", ROWS.X, y)
    assert found["primal"] == pytest.approx(-solver.objective_, rel=1e-4)


def test_fewer_rows_cannot_be_better():
    kept = REDUCERS.get("random")(rows=100, random_state=0).fit_reduce(ROWS.X, ROWS.y)
    solver = fitted("smo", kept.X, kept.y)
    best = primal.primal_objective(fitted("smo"), "smo", ROWS.X, ROWS.y)["primal"]
    assert primal.primal_objective(solver, "smo", ROWS.X, ROWS.y)["primal"] > 1.05 * best


def test_many_rows_are_estimated_from_some(monkeypatch):
    solver = fitted("smo")
    whole = primal.primal_objective(solver, "smo", ROWS.X, ROWS.y)["primal"]
    monkeypatch.setattr(primal, "MOST_VALUES", 400 * solver.model_.n_vectors)
    monkeypatch.setattr(primal, "_FEWEST", 1)
    found = primal.primal_objective(solver, "smo", ROWS.X, ROWS.y)
    assert found["primal_rows"] == 400 and found["primal"] == pytest.approx(whole, rel=0.2)
    monkeypatch.setattr(primal, "MOST_VALUES", solver.model_.n_vectors**2 - 1)
    assert primal.primal_objective(solver, "smo", ROWS.X, ROWS.y) == {}


def test_other_objectives_have_none():
    assert primal.primal_objective(fitted("cvm", tol=1e-3), "cvm", ROWS.X, ROWS.y) == {}
    assert primal.primal_objective(fitted("smo", class_weight="balanced"), "smo", ROWS.X, ROWS.y) == {}
    three = np.arange(600) % 3
    assert primal.primal_objective(fitted("smo", y=three, tol=1e-2), "smo", ROWS.X, three) == {}
