"""SVC, SVR and OneClassSVM as scikit-learn has them: the same parameters, attributes and answers."""

import inspect
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score

from svmreduce.errors import InputError
from svmreduce.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

X, Y = load_iris(return_X_y=True)
X = X + np.random.default_rng(0).normal(scale=0.05, size=X.shape)  # no two rows are equal


@pytest.mark.parametrize("kind", [SVC, SVR, NuSVC, NuSVR, OneClassSVM])
def test_parameters_and_defaults_are_scikit_learns(kind):
    ours, theirs = (inspect.signature(kind.__init__).parameters for kind in (kind, getattr(svm, kind.__name__)))
    assert set(ours) == set(theirs)
    for name in set(ours) - {"self", "probability"}:  # which scikit-learn deprecated in 1.9
        assert ours[name].default == theirs[name].default, name


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_attributes_are_scikit_learns(classes, form, shape):
    rows = classes > Y
    given = {"kernel": "linear", "tol": 1e-7, "decision_function_shape": shape, "class_weight": {0: 2.0}}
    ours, theirs = (kind(**given).fit(form(X[rows]), Y[rows]) for kind in (SVC, svm.SVC))
    assert np.array_equal(ours.support_, theirs.support_) and np.array_equal(ours.n_support_, theirs.n_support_)
    for name in ("dual_coef_", "coef_", "support_vectors_"):
        own, other = (
            value.toarray() if sparse.issparse(value) else value
            for value in (getattr(ours, name), getattr(theirs, name))
        )
        np.testing.assert_allclose(own, other, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    np.testing.assert_allclose(ours.decision_function(form(X)), theirs.decision_function(form(X)), atol=1e-3)
    assert np.array_equal(ours.classes_, theirs.classes_) and ours.n_iter_.shape == theirs.n_iter_.shape


@pytest.mark.parametrize("kind", [SVR, OneClassSVM])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_attributes_without_classes_are_scikit_learns(kind, form):
    weights = np.where(np.arange(150) % 5, 1.0, 0.5)
    ours, theirs = (
        kind(kernel="linear", tol=1e-7).fit(form(X), Y + 0.3 * X[:, 0], sample_weight=weights)
        for kind in (kind, getattr(svm, kind.__name__))
    )
    for name in ("dual_coef_", "coef_", "support_vectors_", "intercept_", "n_support_", "support_", "shape_fit_"):
        own, other = getattr(ours, name), getattr(theirs, name)
        assert sparse.issparse(own) == sparse.issparse(other), name
        own, other = (value.toarray() if sparse.issparse(value) else value for value in (own, other))
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-3, err_msg=name)
    assert type(ours.n_iter_) is int and ours.fit_status_ == 0
    np.testing.assert_allclose(ours.predict(form(X)), theirs.predict(form(X)), atol=1e-3)
    if kind is OneClassSVM:
        np.testing.assert_allclose(ours.score_samples(form(X)), theirs.score_samples(form(X)), rtol=1e-6)
        assert ours.offset_.shape == theirs.offset_.shape


def test_a_kernel_may_be_of_words_and_must_give_a_table():
    words, length = ["a", "bb", "ccc", "dddd"], lambda a, b: np.array([[len(v) * len(w) for w in b] for v in a])
    fitted = SVR(kernel=length, C=10, epsilon=0.01).fit(words, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(fitted.predict(["eeeee"]), [5.0], atol=0.05)
    with pytest.raises(InputError, match=r"must give a table of shape \(150, 150\), and gave \(1, 1\)"):
        SVC(kernel=lambda a, b: np.ones((1, 1))).fit(X, Y)


def test_an_infinite_C_separates():
    y = Y == 0
    assert SVC(C=np.inf).fit(X, y).score(X, y) == 1.0


@pytest.mark.filterwarnings("ignore:The `probability` parameter")
@pytest.mark.parametrize("kernel", ["precomputed", lambda a, b: rbf_kernel(a, b, gamma=0.5)])
def test_tables_and_functions_are_kernels(kernel):
    K = rbf_kernel(X, X, gamma=0.5) if kernel == "precomputed" else X
    expected = SVC(gamma=0.5, tol=1e-6).fit(X, Y)
    fitted = SVC(kernel=kernel, tol=1e-6).fit(K, Y)
    np.testing.assert_allclose(fitted.decision_function(K), expected.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(fitted.support_, expected.support_)
    assert cross_val_score(SVC(kernel=kernel), K, Y, cv=3).mean() > 0.9
    calibrated = SVC(kernel=kernel, probability=True, random_state=0).fit(K, Y)
    assert np.array_equal(calibrated.predict_proba(K).argmax(axis=1), calibrated.predict(K))


def test_a_table_must_be_square():
    with pytest.raises(InputError, match="Precomputed matrix must be a square matrix"):
        SVC(kernel="precomputed").fit(X, Y)


def test_weights_below_zero_leave_rows_out():
    weights = np.where(np.arange(150) % 3, 1.0, -2.0)
    fitted = SVC(gamma=0.5).fit(X, Y, sample_weight=weights)
    expected = SVC(gamma=0.5).fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_allclose(fitted.decision_function(X), expected.decision_function(X), atol=1e-2)
    with pytest.raises(InputError, match="all samples have zero or negative weights"):
        SVC().fit(X, Y, sample_weight=-np.ones(150))


def test_ties_are_broken_by_decision_values():
    fitted = SVC(break_ties=True).fit(X, Y)
    assert np.array_equal(fitted.predict(X), fitted.classes_[fitted.decision_function(X).argmax(axis=1)])
    with pytest.raises(InputError, match="break_ties must be False"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, Y).predict(X)


@pytest.mark.filterwarnings("ignore:The `probability` parameter")
def test_probabilities_follow_broken_ties():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 2)), random.integers(0, 5, 300)
    fitted = SVC(break_ties=True, probability=True, random_state=0).fit(X, y)
    grid = random.normal(size=(2000, 2))
    predicted = fitted.predict(grid)
    assert np.array_equal(fitted.classes_[fitted.predict_proba(grid).argmax(axis=1)], predicted)
    assert np.any(fitted.set_params(break_ties=False).predict(grid) != predicted)


def test_what_scikit_learn_refuses_is_refused():
    X, y = np.array([[0.0, 1], [1, 0], [2, 2], [3, 1]]), [0, 0, 1, 1]
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVC(kernel="precomputed").fit(sparse.csr_matrix(X @ X.T), y)
    fitted = SVC(kernel="linear").fit(X, y)
    with pytest.raises(ValueError, match="trained on dense rows"):
        fitted.predict(sparse.csr_matrix(X))
    with pytest.raises(AttributeError):
        fitted.coef_ = np.zeros((1, 2))
    with pytest.raises(ValueError):
        fitted.coef_[0, 0] = 1.0
    assert not hasattr(SVC().fit(X, y), "coef_")


@pytest.mark.parametrize("own", [SVC, SVR, NuSVR, OneClassSVM])
def test_rows_that_weights_leave_out_count_for_gamma(own):
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(60, 3)), random.integers(-1, 3, 60)
    X[weights <= 0] *= 3
    y = X[:, 0] > 0
    own, theirs = (kind(tol=1e-6).fit(X, y, weights) for kind in (own, getattr(svm, own.__name__)))
    predict = "predict" if isinstance(own, (SVR, NuSVR)) else "decision_function"
    np.testing.assert_allclose(getattr(own, predict)(X), getattr(theirs, predict)(X), atol=1e-4)


def test_scikit_learns_own_tests_pass():
    if not (Path(svm.__file__).parent / "tests" / "test_svm.py").exists():
        pytest.skip("this scikit-learn was installed without its tests")
    run = subprocess.run([sys.executable, "-m", "tests.sklearn_svm"], capture_output=True, text=True, check=True)
    told = json.loads(run.stdout.splitlines()[-1])
    assert told["counted"] > 50, run.stdout
    assert len(told["failed"]) <= 0.05 * told["counted"], told["failed"]


@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_probability_is_deprecated_as_in_scikit_learn(kind):
    with pytest.warns(FutureWarning, match="probability") as told:
        fitted = kind(probability=True, random_state=0).fit(X, Y)
    assert len(told) == 1  # and not once more for every fold
    assert fitted.predict_proba(X).shape == (150, 3)
    with pytest.warns(FutureWarning, match="probA_"):
        assert fitted.probA_.shape == (3,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(kind().fit(X, Y), "predict_proba")


def test_a_nu_svc_says_that_class_weight_has_no_effect():
    with pytest.warns(UserWarning, match="class_weight has no effect"):
        weighted = NuSVC(class_weight={0: 5.0}).fit(X, Y)
    assert np.array_equal(weighted.decision_function(X), NuSVC().fit(X, Y).decision_function(X))


def test_pairs_on_two_threads_are_those_on_one(monkeypatch):
    """Steps in the order of the pairs, and seeds that do not depend on which pair comes first."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(900, 4)), random.integers(0, 4, 900)
    fitted = []
    for threads in ("1", "2", "2", "2"):
        monkeypatch.setenv("SVMREDUCE_THREADS", threads)
        fitted.append(SVC(C=5, random_state=np.random.RandomState(3)).fit(X, y))
    for other in fitted[1:]:
        np.testing.assert_array_equal(other.n_iter_, fitted[0].n_iter_)
        np.testing.assert_array_equal(other.dual_coef_, fitted[0].dual_coef_)


def test_a_fit_can_be_repeated():
    """Without a random_state too, as in scikit-learn: there the first sample of many rows is no choice."""
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 4))
    y = X.sum(axis=1) + random.normal(size=3000) > 0
    first, second = (SVC(C=10).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.n_iter_, second.n_iter_)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
