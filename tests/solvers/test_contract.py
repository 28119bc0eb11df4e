"""What every registered solver promises, whoever wrote it."""

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from svmreduce.errors import InputError
from svmreduce.model import load_model
from svmreduce.registry import parameters_of
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.base import SVMClassifier

ALL = [SOLVERS.get(name) for name in SOLVERS.names()]
CLASSIFIERS = [solver for solver in ALL if issubclass(solver, SVMClassifier)]
MACHINES = [solver for solver in ALL if solver.kernels]  # the others are no SVMs, and have no model file
WEIGHTED = [solver for solver in ALL if solver.accepts_weights]
UNWEIGHTED = [solver for solver in ALL if not solver.accepts_weights]

# One pass is an approximation; passes until no row violates give the optimum, in which weights are repetitions
TO_THE_END = {"LASVM": {"epochs": 50}}
# Two fits of these come near the same optimum, but their decision values differ by so much.
BY_CHANCE = {
    # steps of size 1/t on rows in random order: a digit more costs ten times the steps
    **dict.fromkeys(("Pegasos", "KernelPegasos"), 0.2),
    "FW": 1e-4,  # steps toward rows only: a digit more costs ten times the steps
    "BVM": 0.6,  # a ball of fixed radius has many centres, and which is found depends on the rows it began with
}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def name_of(solver):
    return solver.__name__


def within(solver, usual):
    """The tolerance of a comparison between two fits that have the same optimum."""
    return max(usual, BY_CHANCE.get(solver.__name__, 0.0))


def same_gamma(fitted):
    """The kernel width of a fitted solver as a parameter, if it has one."""
    return {"gamma": fitted.model_.kernel.gamma} if "gamma" in fitted.get_params() else {}


def cloud(rows=80, features=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    X = rng.normal(size=(rows, features)) + 2.5 * np.eye(classes, features)[y]
    return X, y


@pytest.mark.parametrize("solver", ALL, ids=name_of)
class TestEverySolver:
    def test_fitted_attributes(self, solver):
        X, y = cloud()
        fitted = solver().fit(X, y)
        assert fitted.n_features_in_ == 4
        assert {"convert", "reduce", "solve"} <= set(fitted.seconds_) <= {"convert", "reduce", "solve", "certify"}
        assert all(seconds >= 0 for seconds in fitted.seconds_.values())
        assert fitted.converged_ is True and fitted.n_iter_ > 0
        assert fitted.predict(X).shape == y.shape
        if hasattr(fitted, "support_"):
            assert np.array_equal(X[fitted.support_], fitted.support_vectors_)
            assert fitted.dual_coef_.shape[1] == len(fitted.support_)

    def test_sparse_equals_dense(self, solver):
        X, y = cloud()
        X[np.abs(X) < 0.5] = 0
        dense, thin = solver().fit(X, y), solver().fit(sparse.csr_matrix(X), y)
        np.testing.assert_allclose(
            dense.model_.decision_function(X), thin.model_.decision_function(sparse.csr_matrix(X)), atol=2e-2
        )

    def test_unsorted_and_repeated_sparse_entries_mean_their_sum(self, solver):
        X, y = cloud(20)
        data, columns = np.tile(X / 2, 2), np.tile(np.arange(4)[::-1], (20, 2))
        messy = sparse.csr_matrix((data[:, ::-1].ravel(), columns.ravel(), np.arange(0, 161, 8)), shape=X.shape)
        before = messy.data.copy()
        np.testing.assert_allclose(messy.toarray(), X)
        assert solver().fit(messy, y).predict(messy) == pytest.approx(solver().fit(X, y).predict(X), abs=1e-2)
        assert np.array_equal(messy.data, before)

    def test_same_seed_same_model(self, solver):
        X, y = cloud()
        first, second = solver().fit(X, y), solver().fit(X, y)
        assert np.array_equal(first.model_.decision_function(X), second.model_.decision_function(X))

    def test_any_seed_gives_its_own_result_again(self, solver):
        if "random_state" not in solver().get_params():
            return
        X, y = cloud(300, seed=2)
        for seed in (7, np.random.RandomState(7)):
            models = [solver(random_state=clone(seed, safe=False)).fit(X, y).model_ for _ in range(2)]
            assert np.array_equal(models[0].decision_function(X), models[1].decision_function(X))
        assert np.isfinite(solver(random_state=None).fit(X, y).model_.decision_function(X)).all()

    def test_float32_input(self, solver):
        X, y = cloud()
        X = X.astype(np.float32)
        single, double = solver().fit(X, y), solver().fit(X.astype(np.float64), y)
        assert np.array_equal(single.predict(X), double.predict(X.astype(np.float64)))

    def test_constructor_only_stores(self, solver):
        name = next(iter(parameters_of(solver)))
        given = clone(solver()).set_params(**{name: 7.5})
        assert given.get_params()[name] == 7.5 and not hasattr(given, "model_")

    @pytest.mark.parametrize("name", ["C", "tol"])
    @pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
    def test_bad_numbers(self, solver, name, value):
        X, y = cloud()
        if name not in parameters_of(solver):
            pytest.skip(f"has no {name}")
        with pytest.raises(InputError, match=f"{name} must be a positive number"):
            solver(**{name: value}).fit(X, y)

    @pytest.mark.parametrize("damage", [np.nan, np.inf])
    def test_rows_must_be_finite(self, solver, damage):
        X, y = cloud()
        X[3, 1] = damage
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            solver().fit(X, y)

    def test_more_features_than_rows(self, solver):
        X, y = cloud(10, 60)
        for rows in (X, sparse.csr_matrix(X)):
            assert np.isfinite(solver().fit(rows, y).model_.decision_function(rows)).all()

    def test_nothing_but_zeros(self, solver):
        X, y = np.zeros((8, 3)), np.arange(8) % 2
        for rows in (X, sparse.csr_matrix(X)):
            values = solver().fit(rows, y).model_.decision_function(rows)
            assert np.isfinite(values).all() and np.ptp(values) == 0

    def test_constant_columns_zero_rows_and_duplicates(self, solver):
        X, y = cloud(40)
        X[:, 1], X[5:8] = 3.0, 0.0
        X, y = np.vstack([X, X[:10]]), np.concatenate([y, y[:10]])
        for rows in (X, sparse.csr_matrix(X)):
            assert np.isfinite(solver().fit(rows, y).model_.decision_function(rows)).all()

    def test_warm_up_happens_once(self, solver, monkeypatch):
        solver.warm_up()
        monkeypatch.setattr(solver, "fit", None)
        solver.warm_up()


@pytest.mark.parametrize("solver", MACHINES, ids=name_of)
def test_the_model_file_predicts_the_same(solver, tmp_path):
    X, y = cloud(classes=3)
    fitted = solver().fit(X, y)
    fitted.model_.save(tmp_path / "m")
    np.testing.assert_allclose(load_model(tmp_path / "m").predict(X), fitted.predict(X), rtol=1e-12)


@pytest.mark.parametrize("solver", [solver for solver in ALL if not solver.kernels], ids=name_of)
def test_what_is_no_svm_says_that_it_has_no_model_file(solver, tmp_path):
    with pytest.raises(InputError, match=r"is not an SVM and has no model file; use it from Python"):
        solver().fit(*cloud()).model_.save(tmp_path / "m")


@pytest.mark.parametrize("solver", CLASSIFIERS, ids=name_of)
class TestEveryClassifier:
    @pytest.mark.parametrize("labels", [[-1, 1], [0, 1], [5, -3], [1.0, 2.0], ["no", "yes"], [True, False]])
    def test_any_two_labels(self, solver, labels):
        X, y = cloud()
        labels = np.array(labels)
        fitted = solver().fit(X, labels[y])
        assert fitted.classes_.tolist() == sorted(labels.tolist())
        predicted, values = fitted.predict(X), fitted.decision_function(X)
        assert predicted.dtype == labels.dtype
        assert np.array_equal(predicted, fitted.classes_[(values > 0).astype(int)])
        assert np.mean(predicted == labels[y]) > 0.9

    def test_the_order_of_rows_does_not_name_the_classes(self, solver):
        X, y = cloud()
        order = np.argsort(-y, kind="stable")
        forward, backward = solver().fit(X, y), solver().fit(X[order], y[order])
        np.testing.assert_allclose(
            forward.decision_function(X), backward.decision_function(X), atol=within(solver, 5e-2)
        )

    def test_many_classes(self, solver):
        X, y = cloud(150, 6, 5)
        words = np.array(["e", "d", "c", "b", "a"])[y]
        fitted = solver().fit(X, words)
        scores = fitted.decision_function(X)
        assert scores.shape == (150, 5)
        assert np.mean(fitted.classes_[scores.argmax(axis=1)] == words) > 0.85
        assert fitted.score(X, words) > 0.85

    @pytest.mark.parametrize("classes", [2, 3])
    def test_one_row_per_class(self, solver, classes):
        X = np.eye(3)[:classes]
        settings = {"C": 100} if "C" in parameters_of(solver) else {}
        for rows in (X, sparse.csr_matrix(X)):
            assert solver(**settings).fit(rows, range(classes)).predict(rows).tolist() == list(range(classes))

    def test_equal_rows_of_both_classes(self, solver):
        fitted = solver().fit(np.ones((6, 2)), [0, 1] * 3)
        assert np.isfinite(fitted.decision_function(np.ones((1, 2)))).all()

    def test_rows_that_contradict_each_other_among_others(self, solver):
        X, y = cloud(60)
        twice, labels = np.vstack([X, X[:6]]), np.concatenate([y, 1 - y[:6]])
        for rows in (twice, sparse.csr_matrix(twice)):
            fitted = solver().fit(rows, labels)
            assert np.isfinite(fitted.decision_function(rows)).all()
            assert np.mean(fitted.predict(rows)[6:60] == y[6:]) > 0.9

    def test_one_class_is_refused(self, solver):
        with pytest.raises(ValueError, match=r"at least two classes.*got 1 class$"):
            solver().fit(np.eye(3), [1, 1, 1])

    def test_fractions_are_not_classes(self, solver):
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            solver().fit(np.eye(3), [0.1, 0.2, 0.3])


@pytest.mark.parametrize("solver", UNWEIGHTED, ids=name_of)
def test_weights_are_refused_with_a_reason(solver):
    X, y = cloud()
    reason = re.escape(solver.weights_reason)
    with pytest.raises(InputError, match=f"{solver.__name__} cannot take sample_weight: {reason}"):
        solver().fit(X, y, sample_weight=np.ones(len(y)))
    if "classification" in solver.tasks:
        assert "'smo'" in solver.weights_reason and SOLVERS.get("smo").accepts_weights


@pytest.mark.parametrize("solver", WEIGHTED, ids=name_of)
class TestWeights:
    def test_whole_weights_equal_repeated_rows_and_zero_equals_none(self, solver):
        X, y = cloud(60, seed=3)
        times = np.random.default_rng(0).integers(0, 4, len(y))
        settings = {"C": 0.7, "tol": 1e-6, **TO_THE_END.get(solver.__name__, {})}
        weighted = solver(**settings).fit(X, y, sample_weight=times)
        repeated = solver(**settings, **same_gamma(weighted))
        repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        values, others = (fitted.model_.decision_function(X) for fitted in (weighted, repeated))
        np.testing.assert_allclose(values, others, atol=within(solver, 1e-3))
        if weighted.objective_ is not None:
            assert weighted.objective_ == pytest.approx(repeated.objective_, rel=within(solver, 1e-5) / 10)
        if hasattr(weighted, "support_"):
            assert np.all(times[weighted.support_] > 0)

    def test_many_classes_with_weights(self, solver):
        X, y = cloud(90, classes=3, seed=3)
        times = np.random.default_rng(0).integers(1, 4, len(y))
        settings = {"tol": 1e-6, **TO_THE_END.get(solver.__name__, {})}
        weighted = solver(**settings).fit(X, y, sample_weight=times)
        repeated = solver(**settings, **same_gamma(weighted))
        repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        np.testing.assert_allclose(
            weighted.model_.decision_function(X), repeated.model_.decision_function(X), atol=within(solver, 1e-2)
        )

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([-1.0] + [1.0] * 79, "sample_weight must not be negative, got -1"),
            ([0.0] * 80, "every sample_weight is zero: there is nothing to train on"),
            ([np.nan] * 80, "NaN"),
            ([1.0] * 79, r"sample_weight.shape|inconsistent"),
        ],
    )
    def test_bad_weights(self, solver, weights, message):
        X, y = cloud()
        with pytest.raises(ValueError, match=message):
            solver().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("solver", [solver for solver in WEIGHTED if solver in CLASSIFIERS], ids=name_of)
def test_every_class_needs_a_weight(solver):
    with pytest.raises(InputError, match="every class with a weight above zero; got 1 class"):
        solver().fit(*cloud(), sample_weight=[0.0, 1.0] * 40)


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
        for name in ("checkerboard", "twonorm"):
            data = make(name, 12_000, seed=0)
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


@pytest.mark.parametrize("solver", [s for s in ALL if len(s.kernels) > 1], ids=name_of)
def test_an_unknown_kernel_names_the_nearest(solver):
    X, y = cloud()
    with pytest.raises(InputError, match="'rfb': did you mean 'rbf'"):
        solver(kernel="rfb").fit(X, y)
