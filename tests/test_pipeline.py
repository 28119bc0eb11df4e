"""Reduce, then solve: one kernel space, weights that mean the same on both sides, scikit-learn's conventions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from svmreduce.aesvm import AESVC
from svmreduce.errors import InputError
from svmreduce.kernels import resolve_gamma
from svmreduce.pipeline import ReducedSolver, share_parameters
from svmreduce.reducers.base import BaseReducer
from svmreduce.reducers.bootstrap import BootstrapCleaning
from svmreduce.reducers.derive_rs import DeriveRS
from svmreduce.reducers.mahalanobis import Mahalanobis
from svmreduce.reducers.random import RandomSample
from svmreduce.solvers.liblinear import Liblinear
from svmreduce.solvers.libsvm import Libsvm
from svmreduce.solvers.smo import SMO


class Centroids(BaseReducer):
    """k-means in every class: rows that are made, each with the weight of its cluster."""

    selects_rows = False

    def __init__(self, per_class=20, random_state=0):
        self.per_class = per_class
        self.random_state = random_state

    def _reduce(self, X, y, weights):
        rows, labels, sizes = [], [], []
        for label in np.unique(y):
            mine = np.flatnonzero(y == label)
            means = KMeans(min(self.per_class, len(mine)), n_init=1, random_state=self.random_state)
            which = means.fit_predict(X[mine], sample_weight=weights[mine])
            rows.append(means.cluster_centers_)
            labels.append(np.full(means.n_clusters, label))
            sizes.append(np.bincount(which, weights[mine], minlength=means.n_clusters))
        return np.vstack(rows), np.concatenate(labels), np.concatenate(sizes), {"clusters": self.per_class}


@pytest.fixture(scope="module")
def board():
    random = np.random.default_rng(7)
    X = random.random((600, 2))
    return X, np.where(np.floor(3 * X).sum(axis=1) % 2 > 0, "black", "white")


def test_what_one_side_is_told_of_the_kernel_holds_for_both(board):
    by_solver = ReducedSolver(DeriveRS(epsilon=0.05), SMO(C=5, gamma=8.0)).fit(*board)
    by_reducer = ReducedSolver(DeriveRS(gamma=8.0, epsilon=0.05), SMO(C=5)).fit(*board)
    assert by_solver.reducer_.gamma == by_reducer.solver_.gamma == 8.0
    assert_array_equal(by_solver.support_, by_reducer.support_)


def test_weights_of_another_kernel_space_are_refused(board):
    with pytest.raises(InputError, match=r"DeriveRS has gamma=2.0 and SMO 8.0.*give both the same"):
        ReducedSolver(DeriveRS(gamma=2.0), SMO(gamma=8.0)).fit(*board)


def test_a_reducer_without_weights_may_work_in_another_space(board):
    made = ReducedSolver(BootstrapCleaning(gamma=2.0, C=10), SMO(C=10, gamma=8.0)).fit(*board)
    assert made.reducer_.gamma == 2.0 and made.solver_.gamma == 8.0


@pytest.mark.parametrize("reducer", [DeriveRS(epsilon=0.05), RandomSample(share=0.3)])
def test_a_word_for_gamma_means_all_rows(board, reducer):
    made = ReducedSolver(reducer, SMO(gamma="scale")).fit(*board)
    assert made.solver_.gamma == resolve_gamma("scale", board[0])
    assert made.reduction_.n_rows < len(board[1])


def test_a_learned_norm_is_learned_once_on_all_rows(board):
    made = ReducedSolver(DeriveRS(epsilon=0.05), SMO(kernel="gaussian_diagonal", gamma=1.0)).fit(*board)
    assert made.model_.kernel.norm is made.solver_.kernel.norm
    assert_allclose(made.reducer_.kernel_.norm.mapped(board[0]), made.model_.kernel.mapped(board[0]))


def test_aesvm_is_derive_rs_then_smo(board):
    at_once = AESVC(C=3, gamma=8.0, epsilon=0.02).fit(*board)
    in_two = ReducedSolver(DeriveRS(epsilon=0.02), SMO(C=3, gamma=8.0)).fit(*board)
    assert_array_equal(at_once.decision_function(board[0]), in_two.decision_function(board[0]))
    assert at_once.fit_facts().kept == in_two.reduction_.n_rows
    assert set(at_once.support_) <= set(at_once.reduction_.indices)


@pytest.mark.parametrize("reducer", [DeriveRS(epsilon=0.02), RandomSample(share=1.0), Centroids(40)])
def test_a_zero_weight_is_a_row_left_out(board, reducer):
    X, y = board
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    some = weights > 0
    made = ReducedSolver(reducer, SMO(gamma=8.0)).fit(X, y, weights)
    alone = ReducedSolver(reducer, SMO(gamma=8.0)).fit(X[some], y[some], weights[some])
    assert_array_equal(made.decision_function(X), alone.decision_function(X))
    assert_allclose(made.reduction_.sample_weight.sum(), weights.sum())


def test_balanced_classes_are_those_of_all_rows():
    random = np.random.default_rng(1)
    X = np.vstack([random.normal(0, 1, (400, 2)), random.normal(1.5, 1, (40, 2))])
    y = np.repeat([0, 1], [400, 40])
    made = ReducedSolver(DeriveRS(epsilon=0.01), SMO(gamma=0.5, class_weight="balanced", tol=1e-6)).fit(X, y)
    weights = np.where(y == 0, 440 / 800, 440 / 80)
    by_hand = ReducedSolver(DeriveRS(epsilon=0.01), SMO(gamma=0.5, tol=1e-6)).fit(X, y, weights)
    assert_array_equal(made.decision_function(X), by_hand.decision_function(X))
    assert_allclose(made.reduction_.sample_weight.sum(), 440)


def test_scikit_learn_can_clone_and_search(board):
    search = GridSearchCV(
        ReducedSolver(DeriveRS(), SMO(gamma=8.0)), {"reducer__epsilon": [0.01, 0.1], "solver__C": [1, 10]}, cv=3
    ).fit(*board)
    assert set(search.best_params_) == {"reducer__epsilon", "solver__C"}
    assert search.best_score_ > 0.8
    again = clone(search.best_estimator_)
    assert again.get_params()["solver__C"] == search.best_params_["solver__C"]
    assert not hasattr(again, "model_")


def test_any_classifier_or_regressor_can_be_the_solver(board):
    X, y = board
    made = ReducedSolver(DeriveRS(epsilon=0.05), SVC(gamma=8.0)).fit(X, y)
    assert is_classifier(made) and made.score(X, y) > 0.9 and set(made.classes_) == {"black", "white"}
    line = ReducedSolver(Mahalanobis(share=0.5), Ridge()).fit(X, X[:, 0])
    assert is_regressor(line) and line.score(X, X[:, 0]) > 0.9
    assert not hasattr(line, "decision_function")


def test_made_rows_have_no_place_among_the_given(board):
    made = ReducedSolver(Centroids(30), SMO(C=10, gamma=8.0)).fit(*board)
    assert made.reduction_.indices is None and made.support_ is None
    assert made.fit_facts().kept == 60 and made.score(*board) > 0.85


def test_weights_for_a_solver_that_takes_none_are_refused(board):
    with pytest.raises(InputError, match="cannot take sample_weight"):
        ReducedSolver(DeriveRS(), Libsvm(gamma=8.0)).fit(*board)
    assert ReducedSolver(RandomSample(weighted=False), Libsvm(gamma=8.0)).fit(*board).fit_facts().kept == 60


def test_own_parameters_win_and_the_solver_sets_the_kernel_space():
    for_solver, for_reducer = share_parameters(
        SMO, DeriveRS, {"C": 2, "gamma": 1.0, "threads": 1}, {"gamma": 4.0}, {"epsilon": 0.1}
    )
    assert for_solver == {"C": 2, "gamma": 4.0, "threads": 1}
    assert for_reducer == {"gamma": 4.0, "threads": 1, "epsilon": 0.1}
    assert share_parameters(Liblinear, None, {"C": 2, "gamma": 1.0}, {}, {}) == ({"C": 2}, {})


def test_weak_svms_take_the_final_solvers_C_unless_they_have_their_own(board):
    for given, expected in (({}, 7.0), ({"C": 2.0}, 2.0)):
        fitted = ReducedSolver(BootstrapCleaning(proportion=0.3, **given), SMO(C=7.0, gamma=0.5)).fit(*board)
        assert {svm.C for svm in fitted.reducer_.weak_svms_} == {expected}
        assert fitted.solver_.C == 7.0
    assert share_parameters(SMO, BootstrapCleaning, {}, {"C": 7.0}, {})[1] == {"C": 7.0}
    assert share_parameters(SMO, BootstrapCleaning, {"C": 7.0}, {}, {"C": 2.0})[1] == {"C": 2.0}


def test_fit_resample_is_for_rows_without_weights(board):
    X, y = Mahalanobis(share=0.2).fit_resample(*board)
    assert len(X) == len(y) == 120
    with pytest.raises(InputError, match=r"RandomSample gives weights.*set weighted=False"):
        RandomSample(share=0.5).fit_resample(*board)


class _Selects(BaseReducer):
    def __init__(self, answer=None):
        self.answer = answer

    def _reduce(self, X, y, weights):
        return *self.answer, {}


@pytest.mark.parametrize(
    "answer",
    [([0, 1, 2], [1.0]), ([True] * 3, [1.0] * 3), ([0, 0, 1], [1.0] * 3), ([0, -1], [1.0] * 2), ([0, 10**6], [1.0] * 2),
     ([0, 1], None), ([0, 1], [1.0, -1.0]), ([0, 1], [1.0, np.nan])],
)  # fmt: skip
def test_what_a_reducer_selects_is_checked(board, answer):
    with pytest.raises(InputError, match="_Selects must return"):
        _Selects(answer).fit_reduce(*board)
    assert _Selects(([3, 1], [1, 2])).fit_reduce(*board).indices.tolist() == [3, 1]


def test_attributes_of_an_earlier_solver_do_not_stay(board):
    fitted = ReducedSolver(RandomSample(share=0.5), SMO(gamma=8.0)).fit(*board)
    assert hasattr(fitted, "model_") and hasattr(fitted, "support_")
    fitted.set_params(solver=SVC(gamma=8.0)).fit(*board)
    assert not hasattr(fitted, "model_") and len(fitted.support_)
