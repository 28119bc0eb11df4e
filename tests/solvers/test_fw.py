"""FW and MFW, and CVM where it shares their promise: the optimum, the model, the counters."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.data.synthetic import make
from svmreduce.errors import InputError
from svmreduce.solvers.cvm import CVM
from svmreduce.solvers.fw import FW
from svmreduce.solvers.liblinear import Liblinear
from svmreduce.solvers.mfw import MFW
from tests.ball import dual_matrix, gap_of, problem, row_norm, smallest_norm

THREE = pytest.mark.parametrize("solver", [FW, MFW, CVM], ids=lambda solver: solver.__name__)
TIGHT = pytest.mark.parametrize("solver", [MFW, CVM], ids=lambda solver: solver.__name__)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def simplex_weights(fitted, rows):
    """α and R of a two-class model, whose coefficients are y·α/R."""
    scaled = np.zeros(rows)
    scaled[fitted.support_] = np.abs(fitted.dual_coef_[0])
    return scaled / scaled.sum(), 1 / scaled.sum()


@THREE
@pytest.mark.parametrize("seed", range(30))
def test_the_optimum_of_an_independent_solver(seed, solver):
    X, y, weights, C, kernel = problem(seed)
    epsilon, ridge = 1e-5, 1 / (C * weights)
    fitted = solver(C=C, tol=epsilon, selection="exact", **kernel).fit(X, y, sample_weight=weights)
    Q, size = dual_matrix(fitted.model_.kernel, X, y, ridge), row_norm(fitted.model_.kernel, X, ridge)
    alpha, R = simplex_weights(fitted, len(y))
    best = smallest_norm(Q)
    assert fitted.converged_
    assert alpha.min() >= 0 and alpha.sum() == pytest.approx(1, abs=1e-12)
    assert size - best <= (1 + epsilon) ** 2 * (size - R)  # r² is within (1+ε)² of the largest
    assert best * (1 - 1e-9) <= R == pytest.approx(alpha @ Q @ alpha, rel=1e-9)
    assert fitted.objective_ == pytest.approx(-0.5 / R, rel=1e-9)
    # the gap that is stated is the true one
    assert fitted.gap_ <= epsilon
    assert fitted.gap_ == pytest.approx(gap_of(Q, alpha, size), abs=1e-11)


@TIGHT
def test_tight_tolerances_are_met(solver):
    X, y, weights, C, kernel = problem(3)
    fitted = solver(C=C, tol=1e-10, **kernel).fit(X, y, sample_weight=weights)
    assert fitted.converged_ and fitted.gap_ <= 1e-10
    Q = dual_matrix(fitted.model_.kernel, X, y, 1 / (C * weights))
    assert -0.5 / fitted.objective_ == pytest.approx(smallest_norm(Q), rel=1e-7)


@THREE
def test_the_norm_falls_with_every_step_and_follows_its_formulas(solver):
    """Stopped after 1, 2, 3, … steps. Without a certificate R is what the steps made of it."""
    X, y, _, _, _ = problem(8)
    norms = []
    for steps in range(1, 120, 2):
        fitted = solver(C=10.0, gamma=0.5, selection="exact", certify=False, max_iter=steps, tol=1e-8).fit(X, y)
        assert fitted.n_iter_ <= steps and fitted.converged_ == (fitted.n_iter_ < steps)
        Q = dual_matrix(fitted.model_.kernel, X, y, np.full(len(y), 0.1))
        alpha, R = simplex_weights(fitted, len(y))
        assert alpha @ Q @ alpha == pytest.approx(R, rel=1e-10)
        norms.append(R)
    assert np.all(np.diff(norms) <= 1e-15 * norms[0]) and norms[-1] < 0.9 * norms[0]


@TIGHT
def test_the_margin_is_one(solver):
    """y·f(x) = 1 − ξ with ξ = β/C for support vectors, and no less for the others."""
    data = make("checkerboard", 400, seed=0)
    fitted = solver(C=5.0, gamma=2.0, tol=1e-9).fit(data.X, data.y)
    slack = np.zeros(400)
    slack[fitted.support_] = np.abs(fitted.dual_coef_[0]) / 5.0
    margin = data.y * fitted.decision_function(data.X) + slack
    assert margin.min() > 1 - 1e-5
    assert_allclose(margin[fitted.support_], 1, atol=1e-3)
    assert fitted.intercept_[0] == pytest.approx(fitted.dual_coef_.sum())


@THREE
def test_the_linear_case_is_liblinears(solver):
    """Its squared hinge, with the offset as a weight; its C is the price of a whole square, not of half of one."""
    data = make("twonorm", 300, seed=0)
    own = solver(C=0.5, kernel="linear", tol=1e-7).fit(data.X, data.y)
    theirs = Liblinear(C=0.25, loss="squared_hinge", dual=True, bias=1.0, tol=1e-8).fit(data.X, data.y)
    assert_allclose(own.decision_function(data.X), theirs.decision_function(data.X), atol=2e-3)


@TIGHT
def test_whole_weights_are_repeated_rows(solver):
    X, y, _, C, kernel = problem(4)
    times = np.random.default_rng(1).integers(1, 5, len(y))
    weighted = solver(C=C, tol=1e-9, **kernel).fit(X, y, sample_weight=times)
    repeated = solver(C=C, tol=1e-9, **kernel).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


def test_away_steps_drop_rows_and_save_steps():
    data = make("checkerboard", 800, seed=3)
    fw, mfw = (solver(C=10.0, gamma=2.0, tol=1e-5).fit(data.X, data.y) for solver in (FW, MFW))
    assert fw.steps_["away"] == fw.steps_["drop"] == 0 and fw.steps_["toward"] == fw.n_iter_
    assert 0 < mfw.steps_["drop"] <= mfw.steps_["away"] < mfw.steps_["away"] + mfw.steps_["toward"] == mfw.n_iter_
    assert 3 * mfw.n_iter_ < fw.n_iter_
    assert len(mfw.support_) <= len(fw.support_)
    assert mfw.objective_ == pytest.approx(fw.objective_, rel=0.05)


def test_many_classes_add_up():
    """One problem per pair of classes: counters are summed, the gap is the worst."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    X = rng.normal(size=(240, 3)) + 2 * np.eye(3)[y]
    whole = MFW(C=2.0, gamma=0.5).fit(X, y)
    parts = [MFW(C=2.0, gamma=0.5).fit(X[y != out], y[y != out]) for out in range(3)]
    assert whole.steps_ == {name: sum(part.steps_[name] for part in parts) for name in whole.steps_}
    assert whole.n_iter_ == sum(part.n_iter_ for part in parts)
    assert whole.gap_ == pytest.approx(max(part.gap_ for part in parts), rel=1e-3)
    assert whole.objective_ == pytest.approx(sum(part.objective_ for part in parts), rel=1e-4)
    assert whole.score(X, y) > 0.8


@THREE
def test_svm_predict_agrees(solver, tmp_path):
    tool = shutil.which("svm-predict")
    if tool is None:
        pytest.skip("svm-predict is not installed (libsvm-tools)")
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = np.round(rng.normal(size=(300, 3)) + np.eye(3)[y], 4)
    fitted = solver(C=5.0, gamma="auto-distance").fit(X[:200], y[:200])
    fitted.model_.save(tmp_path / "model")
    write_libsvm(tmp_path / "test", X[200:], y[200:].astype(float))
    subprocess.run([tool, tmp_path / "test", tmp_path / "model", tmp_path / "out"], check=True, capture_output=True)
    assert np.array_equal(np.loadtxt(tmp_path / "out"), fitted.predict(X[200:]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"selection": "all"}, "selection must be one of sampled, exact, got 'all'"),
        ({"sample_size": 1}, "sample_size must be a whole number >= 2, got 1"),
        ({"quiet_samples": 0}, "quiet_samples must be a whole number >= 1, got 0"),
        ({"start_rows": 0}, "start_rows must be a whole number >= 1, got 0"),
        ({"certify": "no"}, "certify must be true or false, got 'no'"),
        ({"gamma": "distance"}, "gamma must be a positive number, 'auto', 'auto-distance' or 'scale', got 'distance'"),
        ({"kernel": "sigmoid"}, "unknown kernel of MFW 'sigmoid': known are linear, poly, rbf"),
        ({"kernel": "poly", "coef0": -30.0, "degree": 1, "C": 1e6}, "kernel is not positive definite"),
    ],
)
def test_errors(options, message):
    X, y, _, _, _ = problem(0)
    with pytest.raises(InputError, match=message):
        MFW(**{"max_iter": 1000, **options}).fit(X, y)


def test_nothing_is_left_to_compile_after_warm_up():
    code = """if True:
        from numba.core import event
        from scipy import sparse
        from svmreduce.data.synthetic import make
        from svmreduce.solvers import SOLVERS

        class Tell(event.Listener):
            def on_start(self, found):
                print(found.data["dispatcher"].py_func.__name__)

            def on_end(self, found):
                pass

        for name in ("mfw", "cvm"):
            SOLVERS.get(name).warm_up()
        event.register("numba:compile", Tell())
        for name in ("mfw", "cvm", "bvm"):
            for rows, tol, cache in ((300, 1e-3, 1), (3000, 1e-3, 1), (3000, 1e-3, 100), (3000, 9e-7, 1)):
                data = make("twonorm", rows, seed=0)
                for X in (data.X, sparse.csr_matrix(data.X)):
                    solver = SOLVERS.get(name)(C=10, gamma=0.05, tol=tol, cache_mb=cache, max_iter=500)
                    solver.fit(X, data.y).predict(X[:100])
    """
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_sparse_rows_and_dense_rows():
    data = make("twonorm", 1500, seed=1)
    X = np.where(np.abs(data.X) < 0.7, 0, data.X)
    dense, thin = (MFW(gamma="auto-distance").fit(rows, data.y) for rows in (X, sparse.csr_matrix(X)))
    assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-3)
    assert thin.model_.kernel.gamma == pytest.approx(dense.model_.kernel.gamma)


@pytest.mark.parametrize("heavy", [1e4, 1e-9])
@pytest.mark.parametrize("seed", [0, 1])
def test_weights_of_very_different_size(heavy, seed):
    """A ball of rows of little weight only has no radius: more rows must come in, and nothing is certified before."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y, weights = np.where(X[:, 0] > 0, 1, -1), np.ones(400)
    weights[: 4 if heavy > 1 else 390] = heavy
    C = 0.01 if heavy > 1 else 1.0
    expected = CVM(C=C, gamma=0.5, selection="exact", tol=1e-8).fit(X, y, weights).objective_
    fitted = MFW(C=C, gamma=0.5, random_state=seed).fit(X, y, weights)
    assert fitted.converged_ and fitted.objective_ == pytest.approx(expected, rel=1e-3)
    for solver in (FW, MFW, CVM):
        begun = solver(C=0.01, gamma=0.5, selection="exact", max_iter=1).fit(
            X, y, np.where(np.arange(400) < 4, 1e4, 1.0)
        )
        assert not begun.converged_ and begun.gap_ > 1e-3
