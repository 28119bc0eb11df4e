"""scikit-learn's callbacks hear of every round, may end the fit, and are torn down."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from svmreduce import SMO
from svmreduce.svm import SVC, SVR

callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
random = np.random.default_rng(0)
X = random.normal(size=(400, 3))
y = (X[:, 0] * X[:, 1] > 0).astype(int)


class Listener:
    def __init__(self, last=None):
        self.last, self.log, self.fitted = last, [], None

    def setup(self, estimator, context):
        self.log.append("setup")

    def teardown(self, estimator, context):
        self.log.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.log.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, metadata, fitted_estimator):
        self.log.append(f"end {context.task_name}")
        self.fitted = fitted_estimator
        return context.task_name == "round" and metadata["rounds"] == self.last


@pytest.mark.parametrize("solver", [SMO(), SVC(), SVR()])
def test_every_round_is_told(solver):
    heard = Listener()
    solver.set_callbacks(heard).fit(X, y)
    assert heard.log[:2] == ["setup", "begin fit"] and heard.log[-2:] == ["end fit", "teardown"]
    assert heard.log.count("begin round") == heard.log.count("end round") > 0
    assert np.array_equal(heard.fitted.predict(X), solver.predict(X))
    assert solver.set_callbacks().fit(X, y) and heard.log.count("setup") == 1


def test_a_callback_ends_the_fit():
    rows = random.normal(size=(5000, 3))
    solver, heard = SMO(gamma=1.0), Listener(last=1)
    with pytest.warns(match="stopped before it reached tol"):
        solver.set_callbacks(heard).fit(rows, rows[:, 0] * rows[:, 1] > 0)
    assert heard.log.count("end round") == 1 and not solver.converged_


def test_folds_of_probabilities_are_not_told():
    heard = Listener()
    SMO(probability=True).set_callbacks(heard).fit(X, y)
    assert heard.log.count("setup") == 1


def test_it_is_torn_down_after_an_error():
    heard = Listener()
    with pytest.raises(ValueError, match="too large"):
        SMO(kernel="linear").set_callbacks(heard).fit(1e200 * X, y)
    assert heard.log[0] == "setup" and heard.log[-1] == "teardown"


def test_a_search_hands_its_callbacks_on():
    class Everywhere(Listener):
        max_propagation_depth = None

    heard = Everywhere()
    GridSearchCV(SVC(), {"C": [1, 10]}, cv=2).set_callbacks(heard).fit(X, y)
    assert heard.log.count("setup") == 1 and heard.log.count("begin round") >= 5
