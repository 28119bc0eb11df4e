"""What the base promises for our own solvers beyond ``svmreduce.testing``: its words, its stages, its compiled code."""

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

from svmreduce.errors import InputError
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.smo import SMO
from svmreduce.testing import cloud

ALL = [solver for solver in map(SOLVERS.get, SOLVERS.where) if solver.tasks != ("one_class",)]  # which has no labels

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def name_of(solver):
    return solver.__name__


@pytest.mark.parametrize("solver", ALL, ids=name_of)
def test_the_stages_of_a_fit(solver):
    fitted = solver().fit(*cloud())
    assert {"convert", "reduce", "solve"} <= set(fitted.seconds_) <= {"convert", "reduce", "solve", "certify"}
    assert fitted.converged_ is True and fitted.n_iter_ > 0


@pytest.mark.parametrize("solver", ALL, ids=name_of)
def test_warm_up_happens_once(solver, monkeypatch):
    solver.warm_up()
    monkeypatch.setattr(solver, "fit", None)
    solver.warm_up()


@pytest.mark.parametrize("solver", [solver for solver in ALL if not solver.kernels], ids=name_of)
def test_what_is_no_svm_says_that_it_has_no_model_file(solver, tmp_path):
    with pytest.raises(InputError, match=r"is not an SVM and has no model file; use it from Python"):
        solver().fit(*cloud()).model_.save(tmp_path / "m")


@pytest.mark.parametrize("solver", [solver for solver in ALL if not solver.accepts_weights], ids=name_of)
def test_weights_are_refused_with_a_reason(solver):
    X, y = cloud()
    reason = re.escape(solver.weights_reason)
    with pytest.raises(InputError, match=f"{solver.__name__} cannot take sample_weight: {reason}"):
        solver().fit(X, y, sample_weight=np.ones(len(y)))
    if "classification" in solver.tasks:
        assert "'smo'" in solver.weights_reason and SOLVERS.get("smo").accepts_weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([-1.0] + [1.0] * 79, "sample_weight must not be negative, got -1"),
        ([0.0] * 80, "every sample_weight is zero: there is nothing to train on"),
        ([0.0, 1.0] * 40, "every class with a weight above zero; got 1 class"),
    ],
)
def test_wrong_weights_in_words(weights, message):
    with pytest.raises(InputError, match=message):
        SMO().fit(*cloud(), sample_weight=weights)


@pytest.mark.parametrize("name", ["C", "tol"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_wrong_numbers_in_words(name, value):
    with pytest.raises(InputError, match=f"{name} must be a positive number"):
        SMO(**{name: value}).fit(*cloud())


def test_one_class_in_words():
    with pytest.raises(InputError, match=r"at least two classes.*got 1 class$"):
        SMO().fit(np.eye(3), [1, 1, 1])


def test_nothing_is_left_to_compile_after_warm_up():
    code = """if True:
        from numba.core import event
        from scipy import sparse
        from svmreduce.data.synthetic import make
        from svmreduce.solvers.smo import SMO

        class Tell(event.Listener):
            def on_start(self, found):
                print(found.data["dispatcher"].py_func.__name__)

            def on_end(self, found):
                pass

        SMO.warm_up()
        event.register("numba:compile", Tell())
        data = make("checkerboard", 12_000, seed=0)
        for X in (data.X, sparse.csr_matrix(data.X)):
            for tol in (1e-3, 1e-5):
                SMO(C=10, gamma=0.5, tol=tol).fit(X, data.y).predict(X[:100])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_not_converging_is_a_warning_and_an_attribute():
    X, y = cloud(200, classes=2, seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = SOLVERS.get("smo")(max_iter=1, C=100, gamma=5.0).fit(X, y)
    assert fitted.converged_ is False
    assert any("SMO stopped before it reached tol; raise max_iter" in str(one.message) for one in caught)
    assert np.isfinite(fitted.decision_function(X)).all()
