"""The official backends give what their own interfaces give, and their logs are read right."""

import os
import threading

import numpy as np
import pytest
from libsvm import svm, svmutil
from scipy import sparse
from sklearn.svm import SVC, SVR

from svmreduce.errors import InputError
from svmreduce.solvers._nodes import node_rows, threads_that_sleep
from svmreduce.solvers.liblinear import Liblinear, read_log
from svmreduce.solvers.libsvm import Libsvm, LibsvmSVR, step_limit
from svmreduce.solvers.smo import SMO


def cloud(rows=150, features=5, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(rows, features)) + np.eye(classes, features)[y]
    X[rng.random(X.shape) < 0.3] = 0
    return X, y


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("full", [True, False])
def test_nodes_are_what_libsvm_itself_would_build(form, full):
    X, _ = cloud(20)
    X[4] = 0
    if full:
        X += 0.5
    nodes, addresses, ends = node_rows(form(X), spare=1)
    for row in range(20):
        own, _ = svm.gen_svm_nodearray(X[row])
        begin = (addresses[row] - nodes.ctypes.data) // nodes.dtype.itemsize
        mine = nodes[begin : ends[row] + 1]
        assert mine["index"].tolist() == [node.index for node in own]
        assert mine["value"][:-1].tolist() == [node.value for node in own[:-1]]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_libsvm_equals_its_own_python_interface(kernel, classes):
    X, y = cloud(classes=classes)
    fitted = Libsvm(C=2, kernel=kernel, gamma=0.2, coef0=0.5, degree=2).fit(X, y)
    code = fitted.model_.kernel.code
    theirs = svmutil.svm_train(y, X, f"-q -c 2 -t {code} -g 0.2 -r 0.5 -d 2")
    labels, _, values = svmutil.svm_predict([], X, theirs, "-q")
    assert fitted.predict(X).tolist() == labels
    signs = 1 if theirs.get_labels() == fitted.model_.labels.tolist() else -1
    ours = fitted.model_.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(ours, signs * np.array(values), atol=1e-9)


def test_libsvm_regression_equals_its_own_python_interface():
    X, _ = cloud()
    y = np.sin(X).sum(axis=1)
    fitted = LibsvmSVR(C=3, epsilon=0.05, gamma=0.2).fit(X, y)
    theirs = svmutil.svm_train(y, X, "-q -s 3 -c 3 -p 0.05 -g 0.2")
    np.testing.assert_allclose(fitted.predict(X), svmutil.svm_predict([], X, theirs, "-q")[0], atol=1e-9)
    np.testing.assert_allclose(fitted.predict(X), SVR(C=3, epsilon=0.05, gamma=0.2).fit(X, y).predict(X), atol=1e-2)
    assert fitted.score(X, y) > 0.9


@pytest.mark.parametrize("classes", [2, 3])
def test_libsvms_objective_is_the_dual_of_its_model(classes):
    X, y = cloud(classes=classes)
    tight = {"C": 2, "gamma": 0.3, "tol": 1e-5}
    official, own = Libsvm(**tight).fit(X, y), SMO(**tight).fit(X, y)
    assert official.objective_ == pytest.approx(own.objective_, rel=1e-6)
    if classes == 2:
        K = np.exp(-0.3 * np.square(X[:, None] - X[None]).sum(axis=2))[np.ix_(official.support_, official.support_)]
        beta = official.dual_coef_[0]
        assert official.objective_ == pytest.approx(beta @ K @ beta / 2 - np.abs(beta).sum(), abs=1e-5)


def test_smo_and_scikit_learn_vote_alike():
    X, y = cloud(400, 6, 6, seed=4)
    own = SMO(C=1, gamma=0.1, tol=1e-6).fit(X, y)
    reference = SVC(C=1, gamma=0.1, tol=1e-6, decision_function_shape="ovo").fit(X, y)
    pairs = own.model_.decision_function(X)
    np.testing.assert_allclose(pairs, reference.decision_function(X), atol=1e-3)
    clear = np.abs(pairs).min(axis=1) > 1e-3  # a pair at zero may fall on either side
    assert clear.mean() > 0.9
    assert np.array_equal(own.predict(X)[clear], reference.predict(X)[clear])


def test_class_weight_equals_weights():
    X, y = cloud()
    by_class = SMO(tol=1e-6, class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    by_row = SMO(tol=1e-6).fit(X, y, sample_weight=np.where(y == 0, 3.0, 0.5))
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X), atol=1e-6)


def test_threads_are_what_was_asked_for():
    X, y = cloud()
    assert Libsvm(threads=1).fit(X, y).threads_ == 1
    assert Libsvm(threads=2).fit(X, y).threads_ == 2
    assert SMO(threads=2).fit(X, y).threads_ == 2


def test_fits_in_two_threads_do_not_mix_their_logs():
    problems = [cloud(300, seed=seed) for seed in (0, 1)]
    alone = [Libsvm(gamma=0.3).fit(X, y).n_iter_ for X, y in problems]
    assert alone[0] != alone[1]
    together = [[], []]

    def work(which):
        for _ in range(20):
            together[which].append(Libsvm(gamma=0.3, threads=1).fit(*problems[which]).n_iter_)

    threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [set(counts) for counts in together] == [{alone[0]}, {alone[1]}]


def test_reaching_libsvms_step_limit_is_noticed():
    assert step_limit(1000) == 10_000_000 and step_limit(200_000) == 20_000_000
    outcome = Libsvm()._outcome(None, None, [5, 10_000_000], [-1.0, -2.5], [100, 100])
    assert outcome.converged is False and outcome.objective == -3.5 and outcome.n_iter == 10_000_005
    assert Libsvm()._outcome(None, None, [5, 9_999_999], [-1.0, -2.5], [100, 100]).converged is True


def test_libsvm_explains_refused_parameters():
    X, y = cloud()
    with pytest.raises(InputError, match="LIBSVM refuses these parameters: cache_size <= 0"):
        Libsvm().fit(X, y)._train(X, y, "c_svc", cache_size=0)


def test_an_objective_that_is_no_number_is_refused():
    X, y = cloud(20)
    for solver in (Libsvm, LibsvmSVR):
        with pytest.raises(InputError, match="LIBSVM's objective is not finite: scale the data"):
            solver(kernel="linear").fit(1e200 * X, y)


@pytest.mark.parametrize(("loss", "dual"), [("squared_hinge", True), ("squared_hinge", False), ("hinge", True)])
@pytest.mark.parametrize("bias", [1.0, -1.0])
def test_liblinear_finds_the_minimum_of_its_problem(loss, dual, bias):
    X, y = cloud()
    fitted = Liblinear(C=0.5, loss=loss, dual=dual, bias=bias, tol=1e-5).fit(X, y)

    def objective(w, b):
        slack = np.maximum(0, 1 - (2 * y - 1) * (X @ w + b))
        return (w @ w + b * b) / 2 + 0.5 * np.sum(slack if loss == "hinge" else slack**2)

    w, b = fitted.coef_[0], fitted.intercept_[0]
    best = objective(w, b)
    assert (b == 0) == (bias < 0)
    if dual:
        assert -fitted.objective_ == pytest.approx(best, rel=1e-3)  # no gap between primal and dual
    for _ in range(50):
        step = np.random.default_rng(_).normal(size=6) * 0.05
        assert objective(w + step[:5], b + step[5] * (bias >= 0)) >= best - 1e-6


def test_liblinear_has_no_primal_hinge():
    with pytest.raises(InputError, match="set dual=True"):
        Liblinear(loss="hinge", dual=False).fit(*cloud())
    with pytest.raises(InputError, match="loss must be one of squared_hinge, hinge, got 'hing'"):
        Liblinear(loss="hing").fit(*cloud())


def test_liblinears_log():
    dual = "...*\noptimization finished, #iter = 40\nObjective value = -2.500000\nnSV = 9\n"
    assert read_log(dual * 2) == {"n_iter": 80, "objective": -5.0, "converged": True}
    stuck = dual + "\nWARNING: reaching max number of iterations\n"
    assert read_log(stuck + "Using -s 2 may be faster (also see FAQ)\n")["converged"] is False
    primal = "init f 1e2 |g| 3e1\niter  1 f 5e1 |g| 2e0 CG   2 step_size 1.00e+00 \n"
    assert read_log(primal) == {"n_iter": 1, "objective": None, "converged": True}
    rescued = read_log(stuck + "Switching to use -s 2\n\n" + primal)
    assert rescued == {"n_iter": 41, "objective": None, "converged": True}


def test_openmp_is_told_to_sleep_only_while_it_is_loaded(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    for given, expected in ((None, "passive"), ("active", "active")):
        if given:
            monkeypatch.setenv("OMP_WAIT_POLICY", given)
        with threads_that_sleep():
            assert os.environ["OMP_WAIT_POLICY"] == expected
        assert os.environ.get("OMP_WAIT_POLICY") == given
