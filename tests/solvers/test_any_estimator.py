"""Classifiers and regressors of scikit-learn as methods of an experiment, from the plan to the facts of a fit."""

import pickle
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.errors import InputError
from svmreduce.experiments.config import Config
from svmreduce.experiments.planning import expand
from svmreduce.experiments.worker import run_task
from svmreduce.pipeline import ReducedSolver
from svmreduce.reducers.random import RandomSample
from svmreduce.solvers import SOLVERS

BOARD = {"generator": "checkerboard", "rows": 200, "test_rows": 100}
HERE = "tests.solvers.test_any_estimator"


class Majority(ClassifierMixin, BaseEstimator):
    """Neither decision values nor probabilities, and no attribute that says what happened."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.answer_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.answer_)


class Column(RegressorMixin, BaseEstimator):
    """Predictions as a column, which would be compared with every target at once."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full((X.shape[0], 1), self.mean_)


def plan(*solvers, **changes):
    content = {"name": "try", "datasets": [BOARD], "solvers": list(solvers), "control": False}
    return expand(Config.model_validate(content | changes))


def facts(*solvers, **changes):
    """The facts of each fit, by method; reductions are made as the plan has them."""
    packed, found = {}, {}
    for task in plan(*solvers, **changes):
        answer = run_task(asdict(task), kept=packed.get(task.reduction))
        packed[task.id] = answer.pop("kept", None)
        if task.kind == "fit":
            found[task.method] = answer
    return found


def test_the_parameters_it_has_come_from_the_experiment():
    names = ["sklearn.svm:SVC", "sklearn.ensemble:RandomForestClassifier", "sklearn.naive_bayes:GaussianNB"]
    tasks = {task.solver: task for task in plan(*names, grid={"C": [3], "gamma": [0.5]}, threads=2, seeds=[7])}
    svc, forest, bayes = (tasks[name].solver_params for name in names)
    assert svc == {"C": 3, "gamma": 0.5, "random_state": 7}
    assert forest == {"random_state": 7, "n_jobs": 2} and bayes == {}
    (own,) = plan({"name": names[1], "n_jobs": 1, "n_estimators": 5}, threads=2)
    assert own.solver_params == {"random_state": 0, "n_jobs": 1, "n_estimators": 5}


def test_svc_of_scikit_learn_is_libsvm():
    found = facts("libsvm", "sklearn.svm:SVC", grid={"C": [10], "gamma": [2]})
    official, same = found["libsvm"], found["sklearn.svm:SVC"]
    assert same["scores"] == pytest.approx(official["scores"])
    assert same["sizes"] == official["sizes"]
    blank = dict.fromkeys(("kernel_evals", "objective", "gap"))
    assert same["counters"] == blank | {"n_iter": same["counters"]["n_iter"], "wrong": official["counters"]["wrong"]}


def test_what_it_does_not_report_is_blank():
    found = facts("sklearn.ensemble:RandomForestClassifier", f"{HERE}:Majority")
    forest, least = found["sklearn.ensemble:RandomForestClassifier"], found[f"{HERE}:Majority"]
    for answer in (forest, least):
        assert answer["status"] == "ok" and answer["sizes"]["vectors"] is None
        assert not any(answer["counters"][name] for name in ("n_iter", "kernel_evals", "objective", "gap"))
        assert answer["counters"]["wrong"] and answer["seconds"]["solve"] > 0
    assert forest["scores"]["auc"] > 0.8 and forest["threads"] == 1
    assert least["scores"]["auc"] is None and 0.3 < least["scores"]["accuracy"] < 0.7


def test_after_a_reducer_with_weights_if_it_takes_them():
    found = facts({"name": "sklearn.svm:SVC", "reducer": {"name": "derive_rs", "epsilon": 0.05}, "as": "SVC"},
                  {"name": "smo", "reducer": {"name": "derive_rs", "epsilon": 0.05}, "as": "smo"},
                  grid={"C": [10], "gamma": [2]})  # fmt: skip
    assert found["SVC"]["sizes"]["kept_rows"] == found["smo"]["sizes"]["kept_rows"] < 200
    assert found["SVC"]["scores"]["accuracy"] == pytest.approx(found["smo"]["scores"]["accuracy"], abs=0.011)
    plain = {"name": "random", "weighted": False}
    assert facts({"name": "sklearn.neighbors:KNeighborsClassifier", "reducer": plain, "as": "k"})["k"]["status"] == "ok"
    with pytest.raises(InputError, match=r"takes none \(its fit has no sample_weight\), or set weighted: false"):
        plan({"name": "sklearn.neighbors:KNeighborsClassifier", "reducer": "random"})


def test_a_reduction_is_shared_with_solvers_of_others():
    reducer = {"name": "derive_rs", "epsilon": 0.05}
    tasks = plan({"name": "sklearn.svm:SVC", "reducer": reducer}, {"name": "smo", "reducer": reducer})
    assert len({task.id for task in tasks if task.kind == "reduction"}) == 1


def test_not_converging_is_a_status():
    answer = facts({"name": "sklearn.svm:LinearSVC", "max_iter": 1, "as": "short"})["short"]
    assert answer["status"] == "not_converged" and answer["counters"]["n_iter"] == 1


def test_sparse_rows_that_it_cannot_take_are_reported(tmp_path):
    X = np.eye(40) * np.arange(1, 41)
    write_libsvm(tmp_path / "thin", X, np.arange(40) % 2)
    with pytest.raises(InputError, match="GaussianNB takes no sparse rows, which this data set has"):
        facts("sklearn.naive_bayes:GaussianNB", datasets=[{"file": str(tmp_path / "thin")}], split={"holdout": 0.3})


def test_regressors():
    sinc = {"generator": "sinc", "rows": 100, "test_rows": 50}
    assert facts("sklearn.linear_model:Ridge", datasets=[sinc])["sklearn.linear_model:Ridge"]["scores"]["mse"] < 1
    with pytest.raises(InputError, match=r"predict returned shape \(50, 1\) for 50 rows"):
        facts(f"{HERE}:Column", datasets=[sinc])
    with pytest.raises(InputError, match=r"is for regression, which sklearn\.svm:SVC cannot do"):
        plan("sklearn.svm:SVC", datasets=[sinc])


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        ("sklearn.svm:SVCC", "has no attribute 'SVCC'"),
        ("sklearn.nowhere:SVC", "No module named 'sklearn.nowhere'"),
        ("sklearn.cluster:KMeans", "is neither a classifier nor a regressor"),
        ("sklearn.preprocessing:StandardScaler", "it has no fit and predict"),
        ("sklearn.ensemble:StackingClassifier", "needs estimators; every parameter must have a default"),
        ("svmreduce:ReducedSolver", "needs reducer, solver; every parameter must have a default"),
        ("svmreduce:RandomSample", "it has no fit and predict"),
        ({"name": "sklearn.svm:SVC", "C": -1}, "The 'C' parameter of SVC must be a float in the range"),
        ({"name": "sklearn.svm:SVC", "gama": 1}, "unknown parameter of sklearn.svm:SVC 'gama': did you mean 'gamma'?"),
    ],
)
def test_what_cannot_run_is_reported_by_the_plan(solver, said):
    with pytest.raises(InputError) as caught:
        plan(solver)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_it_stays_an_estimator():
    made = SOLVERS.get("sklearn.svm:SVC")
    X, y = np.eye(4), [0, 1, 0, 1]
    fitted = clone(made(C=2)).fit(X, y)
    assert isinstance(fitted, SVC) and made is SOLVERS.get("sklearn.svm:SVC") and repr(fitted) == "SVC(C=2)"
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_facts_of_a_plain_estimator_after_a_reducer():
    X = np.random.default_rng(0).random((50, 2))
    told = ReducedSolver(RandomSample(share=0.2), Ridge()).fit(X, X[:, 0]).fit_facts()
    assert told.kept == 10 and told.objective is None and told.seconds["reduce"] > 0
