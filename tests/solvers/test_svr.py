"""SVR and OneClass as estimators: weights, tables of kernel values, files; and fits that go on from the last one."""

import numpy as np
import pytest
from libsvm import svmutil
from sklearn.metrics.pairwise import rbf_kernel

from svmreduce import SMO, SVR, OneClass, load_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=300)


@pytest.mark.parametrize("kind", [SVR, OneClass])
def test_weights_are_repetitions_and_tables_are_rows(kind):
    times = RNG.integers(0, 4, 300)
    fitted = kind(gamma=0.5, tol=1e-6).fit(X, Y, sample_weight=times)
    repeated = kind(gamma=0.5, tol=1e-6).fit(np.repeat(X, times, axis=0), np.repeat(Y, times))
    assert fitted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    K = rbf_kernel(X, gamma=0.5)
    from_table = kind(kernel="precomputed", tol=1e-6).fit(K, Y, sample_weight=times)
    assert fitted.objective_ == pytest.approx(from_table.objective_, rel=1e-7)
    np.testing.assert_allclose(from_table.predict(K)[times == 0], fitted.predict(X)[times == 0], atol=1e-4)


@pytest.mark.parametrize("kind", [SVR, OneClass])
def test_libsvm_reads_the_file_and_predicts_the_same(kind, tmp_path):
    fitted = kind(gamma=0.5).fit(X, Y)
    fitted.model_.save(tmp_path / "model")
    raw = svmutil.svm_load_model(str(tmp_path / "model"))
    _, _, values = svmutil.svm_predict([], [dict(enumerate(row, start=1)) for row in X.tolist()], raw, "-q")
    expected = fitted.model_.decision_function(X)
    np.testing.assert_allclose(np.ravel(values), expected, atol=1e-10)
    np.testing.assert_array_equal(load_model(tmp_path / "model").decision_function(X), expected)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_fit_goes_on_from_the_last_one(classes):
    """After C changed and rows were added; zero weights and other labels are only a worse start."""
    kind = SMO if classes else SVR
    y = np.digitize(Y, np.linspace(-0.5, 0.5, classes - 1)) if classes else Y
    cold = kind(C=5, gamma=1.0, tol=1e-6).fit(X, y)
    warm = kind(C=4, gamma=1.0, tol=1e-6, warm_start=True).fit(X[:295], y[:295])
    warm.set_params(C=5).fit(X, y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-8)
    again = warm.fit(X, y).n_iter_
    assert again < 0.2 * cold.n_iter_
    weights = np.where(np.arange(300) % 7, 1.0, 0.0)
    warm.fit(X, y[::-1], sample_weight=weights)
    expected = kind(C=5, gamma=1.0, tol=1e-6).fit(X, y[::-1], sample_weight=weights)
    assert warm.converged_ and warm.objective_ == pytest.approx(expected.objective_, rel=1e-8)
    assert warm.set_params(warm_start=False).fit(X, y).n_iter_ == cold.n_iter_


def test_a_regression_ends_in_time_and_says_so():
    heard = []
    with pytest.warns(UserWarning, match="stopped before it reached tol; raise max_seconds"):
        fitted = SVR(C=1e4, gamma=1.0, tol=1e-9, max_seconds=1e-6, callback=heard.append).fit(X, Y)
    assert not fitted.converged_ and fitted.gap_ > 1e-9 and heard[0]["gap"] == pytest.approx(fitted.gap_, rel=1e-6)


@pytest.mark.filterwarnings("error")
def test_a_tube_that_holds_all_rows_has_one_answer():
    """Also from a start whose coefficients all go to zero, and far from zero."""
    middle = (Y.min() + Y.max()) / 2
    warm = SVR(gamma=1.0, warm_start=True).fit(X, Y).set_params(epsilon=100.0).fit(X, Y)
    assert warm.intercept_ == pytest.approx(middle) and SVR(epsilon=100.0).fit(X, Y).intercept_ == pytest.approx(middle)
    far = SVR(gamma=1.0).fit(X, Y + 2.0**40)
    np.testing.assert_allclose(far.predict(X) - 2.0**40, SVR(gamma=1.0).fit(X, Y).predict(X), atol=2e-3)
