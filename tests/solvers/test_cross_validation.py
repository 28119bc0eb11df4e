"""Cross-validation, and class weights, which every solver understands in the same way."""

import numpy as np
import pytest
from sklearn import svm

from svmreduce.errors import InputError
from svmreduce.pipeline import ReducedSolver
from svmreduce.reducers.random import RandomSample
from svmreduce.registry import parameters_of
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.cross_validation import cross_validate
from svmreduce.testing import cloud

WEIGHTED = [name for name in SOLVERS.where if "class_weight" in parameters_of(SOLVERS.get(name))]


def test_every_row_is_predicted_by_others():
    X, y = cloud(90, classes=3)
    predicted = cross_validate(SOLVERS.get("smo")(), X, y, folds=3)
    assert predicted.shape == y.shape and 0.6 < np.mean(predicted == y) <= 1
    X[-1] = 50.0
    labels = np.where(np.arange(90) >= 88, 1, 0)  # two rows, far from each other: each is alone when it is trained on
    assert cross_validate(SOLVERS.get("smo")(gamma=1.0, C=1000), X, labels, folds=2)[-1] == 0
    numbers = cross_validate(SOLVERS.get("nu_svr")(), X[:80], X[:80, 0], folds=4)
    assert np.corrcoef(numbers, X[:80, 0])[0, 1] > 0.8


def test_impossible_folds():
    X, y = cloud(20)
    with pytest.raises(InputError, match="two classes of at least two rows each"):
        cross_validate(SOLVERS.get("smo")(), X, np.where(np.arange(20) == 0, 1, 0), folds=3)
    for folds, words in ((1, "from 2 to the number of rows"), (21, "from 2 to"), (15, "no class has so many rows")):
        with pytest.raises(InputError, match=words):
            cross_validate(SOLVERS.get("smo")(), X, y, folds=folds)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", WEIGHTED)
def test_a_class_that_weighs_more_is_predicted_more_often(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + rng.normal(size=300) > 1.5, "rare", "usual")
    counts = [
        np.sum(SOLVERS.get(name)(class_weight=given).fit(X, y).predict(X) == "rare") for given in (None, {"rare": 8.0})
    ]
    assert counts[1] > counts[0]


@pytest.mark.parametrize("name", ["smo", "libsvm", "decomposition"])
@pytest.mark.parametrize("weights", ["balanced", {1: 3.0}])
def test_class_weights_are_scikit_learns(name, weights):
    X, y = cloud(80, classes=3, seed=4)
    ours = SOLVERS.get(name)(class_weight=weights, tol=1e-6, gamma=0.3).fit(X, y)
    theirs = svm.SVC(class_weight=weights, tol=1e-6, gamma=0.3).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_balanced_means_all_rows_also_after_a_reduction():
    X, y = cloud(300)
    y = np.where(np.arange(300) % 5 == 0, y, 0)
    for name in ("smo", "libsvm"):
        fitted = ReducedSolver(RandomSample(share=0.5, weighted=False), SOLVERS.get(name)(class_weight="balanced")).fit(
            X, y
        )
        assert fitted.score(X, y) > 0.5 and set(fitted.predict(X)) == {0, 1}


@pytest.mark.parametrize(("given", "words"), [({7: 2.0}, "class_weight names 7, but the classes are 0, 1"),
                                              ({1: -2.0}, "class_weight of 1 must be a positive number")])  # fmt: skip
def test_wrong_class_weights(given, words):
    for name in ("smo", "libsvm", "liblinear"):
        with pytest.raises(InputError, match=words):
            SOLVERS.get(name)(class_weight=given).fit(*cloud())


def test_classes_ascend_in_the_attributes_of_every_kernel_solver():
    X, y = cloud(60, classes=3, seed=5)
    order = np.argsort(-y, kind="stable")  # LIBSVM counts classes as they come
    first, second = (SOLVERS.get("libsvm")(kernel="linear", tol=1e-7).fit(rows, labels)
                     for rows, labels in ((X, y), (X[order], y[order])))  # fmt: skip
    np.testing.assert_allclose(first.coef_, second.coef_, atol=1e-5)
    np.testing.assert_allclose(first.intercept_, second.intercept_, atol=1e-5)
    assert np.array_equal(first.n_support_, second.n_support_)
    assert np.array_equal(np.sort(order[second.support_]), np.sort(first.support_))
