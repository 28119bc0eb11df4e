"""Random Fourier features: the kernel they stand for, the backends behind them, memory."""

import numpy as np
import pytest
from scipy import sparse

from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.model import FourierMap, FourierModel, load_model
from svmreduce.solvers.liblinear import Liblinear
from svmreduce.solvers.libsvm import Libsvm
from svmreduce.solvers.rfeat import RfeatSVM1, RfeatSVM2
from tests.solvers.oracles import cloud


def test_the_error_of_the_kernel_falls_as_one_over_root_E():
    """At every E the mean squared error is that of E independent terms, each of variance 1 + k⁴/2 − k²."""
    X = np.random.default_rng(0).normal(size=(60, 4))
    K = kernel_matrix(KernelSpec("rbf", 0.2), X, X)
    pairs = np.triu_indices(60, 1)
    expected = np.mean((1 + K**4 / 2 - K**2)[pairs])
    sizes, errors = 2 ** np.arange(5, 12), []
    for E in sizes:
        draws = [FourierMap.draw(4, E, 0.2, seed).transform(X) for seed in range(40)]
        errors.append(np.mean([np.mean(np.square(Z @ Z.T - K)[pairs]) for Z in draws]))
    np.testing.assert_allclose(errors * sizes, expected, rtol=0.1)
    slope = np.polyfit(np.log(sizes), np.log(errors) / 2, 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.02)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("threads", [1, 3])
def test_features_by_their_definition_over_many_blocks(form, threads):
    X, _ = cloud(2000)
    drawn = FourierMap.draw(5, 300, 0.7, seed=3)
    expected = np.sqrt(2 / 300) * np.cos(X @ drawn.frequencies + drawn.phases)
    np.testing.assert_allclose(drawn.transform(form(X), threads), expected, atol=1e-14)
    assert np.var(drawn.frequencies) == pytest.approx(1.4, rel=0.1)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_backends_see_the_features_as_their_data(form, classes):
    X, y = cloud(200, classes=classes)
    new = cloud(50, seed=1)[0]
    for solver, backend in (
        (RfeatSVM1(C=2.0, gamma=0.3, E=80, tol=1e-5), Libsvm(C=2.0, kernel="linear", tol=1e-5)),
        (RfeatSVM2(C=2.0, gamma=0.3, E=80), Liblinear(C=2.0)),
        (RfeatSVM2(C=0.1, gamma=0.3, E=80, loss="hinge", tol=0.01), Liblinear(C=0.1, loss="hinge", tol=0.01)),
    ):
        fitted = solver.fit(form(X), y)
        reference = backend.fit(fitted.model_.map.transform(X), y)
        features = fitted.model_.map.transform(new)
        np.testing.assert_allclose(
            fitted.decision_function(form(new)), reference.decision_function(features), atol=1e-9
        )
        assert np.array_equal(fitted.predict(form(new)), reference.predict(features))
        assert (fitted.n_iter_, fitted.objective_) == (reference.n_iter_, reference.objective_)
        assert fitted.seconds_["reduce"] > 0 and fitted.seconds_["convert"] > 0
        assert fitted.coef_.shape[1] == 80


def test_many_features_come_near_the_kernel_svm():
    X, y = cloud(150)
    exact = Libsvm(C=1.0, gamma=0.3).fit(X, y).decision_function(X)
    few, many = (
        np.abs(RfeatSVM1(C=1.0, gamma=0.3, E=E).fit(X, y).decision_function(X) - exact).mean() for E in (50, 12800)
    )
    assert many < 0.05 and many < few / 8  # 1/√256 of it


def test_what_does_not_fit_into_memory_is_refused():
    X, y = cloud()
    with pytest.raises(
        InputError,
        match=r"^1000000000000 random features of 120 rows need \d+\.\d GB of memory, \d+\.\d GB are free: lower E, or",
    ):
        RfeatSVM2(E=10**12).fit(X, y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_beyond_all_measure_are_refused():
    X, y = cloud()
    with pytest.raises(InputError, match="the random features are not finite: scale the data"):
        RfeatSVM2(gamma=1.0).fit(4e307 * X, y)


# ---------------------------------------------------------------- the model and its file


def random_model(k, pairwise, labels=None):
    rng = np.random.default_rng(k)
    outputs = 1 if k == 2 else k * (k - 1) // 2 if pairwise else k
    labels = np.arange(k)[::-1] * 3 - 4 if labels is None else np.array(labels)
    drawn = FourierMap.draw(3, 7, 0.5, seed=0)
    return FourierModel(drawn, rng.normal(size=(outputs, 7)), rng.normal(size=outputs), labels, pairwise)


@pytest.mark.parametrize("pairwise", [True, False])
@pytest.mark.parametrize("labels", [[3, -1], ["a b", "ü"], [1.5, 2.5, 0.5], [4, 2, 9, 7]])
@pytest.mark.parametrize("name", ["m", "m.gz"])
def test_every_number_survives_the_file(tmp_path, pairwise, labels, name):
    model = random_model(len(labels), pairwise, labels)
    model.save(tmp_path / name)
    again = load_model(tmp_path / name)
    assert isinstance(again, FourierModel) and again.pairwise == pairwise
    assert again.labels.tolist() == labels
    for part in ("weights", "intercepts"):
        assert np.array_equal(getattr(again, part), getattr(model, part))
    for part in ("frequencies", "phases"):
        assert np.array_equal(getattr(again.map, part), getattr(model.map, part))
    X = np.random.default_rng(1).normal(size=(20, 3))
    assert np.array_equal(again.predict(X), model.predict(X))


def test_columns_beyond_the_models_are_not_looked_at_and_missing_ones_are_zero():
    model, X = random_model(3, False), np.random.default_rng(1).normal(size=(20, 3))
    for form in (np.asarray, sparse.csr_matrix):
        wide = form(np.hstack([X, np.ones((20, 2))]))
        np.testing.assert_allclose(model.decision_function(wide), model.decision_function(X), atol=1e-13)
        zeros = np.hstack([X[:, :2], np.zeros((20, 1))])
        np.testing.assert_allclose(model.decision_function(form(X[:, :2])), model.decision_function(zeros), atol=1e-13)


def test_classes_by_the_largest_value_or_by_votes():
    decisions = np.array([[2.0, 3.0, 1.0], [-1.0, 1.0, 1.0]])
    assert random_model(3, False).decide(decisions).tolist() == [-1, -1]  # labels are 2, -1, -4
    assert random_model(3, True).decide(decisions).tolist() == [2, -1]


GOOD = """feature_type fourier
nr_class 2
label 1 -1
nr_feature 2
nr_random 2
decision one_vs_rest
intercept 0.5
F
0.25 1.0 0.5 -0.5
0.75 -1.0 1.5 2.5
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fourier\n", "wavelet\n", "m:1: unknown feature_type: known is fourier"),
        ("one_vs_rest", "one_vs_all", "m:6: unknown decision 'one_vs_all': known are one_vs_rest, one_vs_one"),
        ("nr_random 2", "nr_random 3", "m:11: 3 lines of random features are needed, the file has 2"),
        ("nr_feature 2", "nr_feature 9000000000000", "m:4: 'nr_feature' must be at least 1 and at most 2147483647"),
        ("1.5 2.5", "1.5", "m:10: needs 4 numbers, got '0.75 -1.0 1.5'"),
        ("1.5 2.5", "1.5 inf", "m:10: one of the random features is not finite"),
        ("intercept 0.5", "intercept 0.5 1", "m:7: 'intercept' needs 1 values, got 2"),
        ("nr_random 2\n", "", "m: the header has no line 'nr_random'"),
        ("nr_class 2", "nr_class 1", "m:2: 'nr_class' must be at least 2 and at most 2147483647, got 1"),
    ],
)
def test_a_damaged_file_is_told_by_its_line(tmp_path, old, new, message):
    (tmp_path / "m").write_text(GOOD)
    assert load_model(tmp_path / "m").decision_function(np.zeros((1, 2)))[0] == pytest.approx(
        0.5 + np.cos(0.25) - np.cos(0.75)
    )
    assert GOOD.count(old) == 1
    (tmp_path / "m").write_text(GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_model(tmp_path / "m")
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def test_numbers_that_are_not_finite_are_not_written(tmp_path):
    model = random_model(2, False)
    model.weights[0, 0] = np.nan
    with pytest.raises(InputError, match="numbers that are not finite; scale the data"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
