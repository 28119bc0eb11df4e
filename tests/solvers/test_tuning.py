"""C by validation."""

from typing import ClassVar

import numpy as np
import pytest

from svmreduce.data.synthetic import make
from svmreduce.errors import InputError
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.smo import SMO
from svmreduce.solvers.tuning import C_GRID, tune_C


class Known(SMO):
    """Accuracy by C as it is told to be; remembers what it was trained on."""

    table: ClassVar[dict] = {}
    seen: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append((self.C, self.gamma, len(y), sample_weight))
        return self

    def predict(self, X):
        right = np.arange(X.shape[0]) < round(self.table[self.C] * X.shape[0])
        return np.where(right, X[:, 0], -X[:, 0])


@pytest.fixture
def known():
    Known.table, Known.seen = dict.fromkeys(C_GRID, 0.5), []
    y = np.where(np.arange(200) % 4 == 0, 1.0, -1.0)
    return Known(gamma="auto-distance"), y[:, None].copy(), y


def test_the_best_and_of_equals_the_smallest(known):
    solver, X, y = known
    Known.table |= {8.0: 0.7, 64.0: 0.7, 128.0: 0.65}
    told = []
    found = tune_C(solver, X, y, progress=lambda *facts: told.append(facts))
    assert found.C == 8.0
    assert found.accuracies == pytest.approx(Known.table, abs=0.01)
    assert list(found.accuracies) == list(C_GRID) == [2.0**k for k in range(13)]
    assert [(C, accuracy) for C, accuracy, _ in told] == list(found.accuracies.items())
    assert solver.C == 1.0  # the given solver stays as it is
    # 70 % of the rows, and the kernel of all of them
    assert {rows for _, _, rows, _ in Known.seen} == {140}
    sigma2 = 2 * y.var()
    assert all(gamma == pytest.approx(1 / (2 * sigma2)) for _, gamma, _, _ in Known.seen)


def test_weights_count_in_training_and_in_the_accuracy(known):
    solver, X, y = known
    weights = np.where(np.arange(200) % 2, 1.0, 3.0)
    found = tune_C(solver, X, y, weights, values=[1.0])
    assert 0.3 < found.accuracies[1.0] < 0.7
    (_, _, _, given) = Known.seen[0]
    assert len(given) == 140 and set(given) == {1.0, 3.0}


@pytest.mark.parametrize("name", ["mfw", "smo", "libsvm", "liblinear"])
def test_any_classifier_and_the_same_answer_for_the_same_seed(name):
    data = make("checkerboard", 300, seed=0)
    solver = SOLVERS.get(name)()
    first, again = (tune_C(solver, data.X, data.y, values=(4, 1, 256), seed=5) for _ in range(2))
    assert first == again and list(first.accuracies) == [1, 4, 256]
    assert first.accuracies != tune_C(solver, data.X, data.y, values=(4, 1, 256), seed=6).accuracies


def test_errors(known):
    solver, X, y = known
    with pytest.raises(InputError, match="LibsvmSVR does not classify: there is no accuracy to tune C by"):
        tune_C(SOLVERS.get("libsvm_svr")(), X, y)
    with pytest.raises(InputError, match="2 rows of each class are needed, but class 1 has 1"):
        tune_C(solver, X[:4], np.array([1.0, -1.0, -1.0, -1.0]))


def test_solvers_without_a_kernel_of_their_own_and_rows_of_no_weight():
    data = make("checkerboard", 120, seed=0)
    found = tune_C(SOLVERS.get("rfeatsvm2")(E=20), data.X, data.y, values=[1.0, 4.0])
    assert set(found.accuracies) == {1.0, 4.0}
    weights = np.where(np.arange(120) < 60, 1.0, 0.0)
    with_zeros = tune_C(SMO(), data.X, data.y, weights, values=[1.0, 64.0])
    assert with_zeros.accuracies == tune_C(SMO(), data.X[:60], data.y[:60], np.ones(60), values=[1.0, 64.0]).accuracies
