"""LASVM: the optimum after enough passes, what one pass and a stream of rows are worth, and its memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.core.lasvm_search import OnlineSearch
from svmreduce.core.optimality import kkt_gap
from svmreduce.data.synthetic import make
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.solvers.lasvm import LASVM
from svmreduce.solvers.smo import SMO


def cloud(rows=500, features=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    return rng.normal(size=(rows, features)) + 1.5 * np.eye(classes, features)[y], y


def bounds(y, box):
    return np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0)


def true_gap(fitted, X, y, C):
    """Largest violation of the optimality conditions on all rows, in double."""
    sign = np.where(y == fitted.classes_[1], 1.0, -1.0)
    beta = np.zeros(len(y))
    beta[fitted.support_] = fitted.dual_coef_[0]
    return kkt_gap(sign - kernel_matrix(fitted.model_.kernel, X, X) @ beta, beta, *bounds(sign, C))


@pytest.mark.parametrize("selection", ["random", "gradient"])
@pytest.mark.parametrize(
    "kernel", [{"gamma": 0.3}, {"kernel": "linear"}, {"kernel": "poly", "gamma": 0.2, "coef0": 1.0, "degree": 2}]
)
def test_enough_passes_reach_the_optimum_of_all_rows(selection, kernel):
    X, y = cloud()
    fitted = LASVM(C=2, epochs=50, selection=selection, tol=1e-5, **kernel).fit(X, y)
    oracle = SVC(C=2, tol=1e-6, **{"kernel": "rbf", **kernel}).fit(X, y)
    assert fitted.converged_ and fitted.gap_ <= 1e-5
    assert fitted.gap_ == pytest.approx(true_gap(fitted, X, y, 2), abs=1e-8)
    assert_allclose(fitted.decision_function(X), oracle.decision_function(X), atol=1e-3)
    reference = SMO(C=2, tol=1e-6, **kernel).fit(X, y)
    assert fitted.objective_ == pytest.approx(reference.objective_, rel=1e-6)


def test_in_float32_the_gap_is_still_one_in_double():
    data = make("checkerboard", 3000, seed=0)
    for rows in (data.X, sparse.csr_matrix(data.X)):
        fitted = LASVM(C=10, gamma=2.0, epochs=20).fit(rows, data.y)
        assert fitted.gap_ == pytest.approx(true_gap(fitted, data.X, data.y, 10), abs=1e-8)
        assert fitted.gap_ <= 1.2e-3  # the search ends by float32 values, and sparse rows are not centred


def test_one_pass_is_close_and_its_gap_says_how_close():
    data, test = make("checkerboard", 5000, seed=0), make("checkerboard", 5000, seed=1)
    once = LASVM(C=10, gamma=2.0).fit(data.X, data.y)
    best = SMO(C=10, gamma=2.0).fit(data.X, data.y)
    assert once.gap_ > 0.01 and once.gap_ == pytest.approx(true_gap(once, data.X, data.y, 10), abs=1e-6)
    assert best.objective_ < once.objective_ < 0.99 * best.objective_
    assert once.score(test.X, test.y) > best.score(test.X, test.y) - 0.005


def test_active_selection_passes_by_rows_that_are_far_on_the_wrong_side():
    X, y = cloud(3000)
    y = np.where(X[:, 0] > X[:, 1], 0, 1)
    flipped = np.flatnonzero(np.abs(X[:, 0] - X[:, 1]) > 2)[::5]
    y[flipped] = 1 - y[flipped]
    active, gradient = (LASVM(C=1, gamma=0.1, selection=word).fit(X, y) for word in ("active", "gradient"))
    shares = [np.isin(flipped, fitted.support_).mean() for fitted in (active, gradient)]
    assert shares[0] < 0.5 and shares[1] > 0.95
    assert len(active.support_) < len(gradient.support_)
    clean = np.setdiff1d(np.arange(3000), flipped)
    assert active.score(X[clean], y[clean]) > 0.97


def test_finishing_solves_the_problem_of_the_rows_kept():
    data = make("checkerboard", 3000, seed=0)
    finished, left = (LASVM(C=10, gamma=2.0, tol=1e-5, finishing=f).fit(data.X, data.y) for f in (True, False))
    kept = finished.support_
    alone = SMO(C=10, gamma=2.0, tol=1e-6).fit(data.X[kept], data.y[kept])
    assert finished.objective_ == pytest.approx(alone.objective_, rel=1e-6)
    assert left.objective_ > finished.objective_ and left.n_iter_ < finished.n_iter_
    with pytest.warns(ConvergenceWarning, match="LASVM stopped before it reached tol; raise max_iter"):
        assert not LASVM(C=10, gamma=2.0, max_iter=1).fit(data.X, data.y).converged_


def test_a_pass_that_finds_nothing_is_the_last():
    X, y = cloud()
    many, more = (LASVM(C=1, gamma=0.3, epochs=n).fit(X, y) for n in (50, 100))
    assert many.n_iter_ == more.n_iter_ and many.kernel_evals_ == more.kernel_evals_


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("selection", ["random", "gradient"])
def test_little_memory_costs_time_only(form, selection):
    data = make("checkerboard", 2500, seed=0)
    settings = {"C": 10, "gamma": 2.0, "selection": selection, "candidates": 5}
    roomy, tight = (LASVM(cache_mb=mb, **settings).fit(form(data.X), data.y) for mb in (1024, 0.01))
    assert tight.kernel_evals_ > roomy.kernel_evals_ and tight.n_iter_ == roomy.n_iter_
    assert np.array_equal(tight.support_, roomy.support_)
    assert_allclose(tight.dual_coef_, roomy.dual_coef_, rtol=1e-6)


def test_rows_of_kernel_values_stay_true_while_the_expansion_changes():
    data = make("checkerboard", 4000, seed=0)
    kernel = KernelSpec("rbf", 2.0)
    search = OnlineSearch(data.X, data.y, *bounds(data.y, 10.0), kernel, tol=1e-6, cache_mb=1.5, seed=0, threads=1)
    search.pass_over()
    search.finish(10**6)
    size, members = search.size, search.members[: search.size]
    owned = np.flatnonzero(search.owner >= 0)
    assert 64 <= owned.size < size < search.inserted  # rows have lost their slots, and rows have left
    K = kernel_matrix(kernel, data.X[members], data.X[members])
    for slot in owned:
        row = search.K[slot * search.stride : slot * search.stride + size]
        assert_allclose(row, K[search.owner[slot]], atol=1e-12)
        assert search.slot_of[search.owner[slot]] == slot
    beta, v = search.state[0][:size], search.state[1][:size]
    assert_allclose(v, data.y[members] - K @ beta, atol=1e-9)
    assert np.array_equal(np.flatnonzero(search.inside), np.sort(members))


def test_the_steps_keep_the_bounds_and_the_sum():
    X, y = cloud(400, classes=2)
    weights = np.random.default_rng(1).uniform(0.1, 2.0, 400)
    fitted = LASVM(C=1.5, gamma=0.5).fit(X, y, sample_weight=weights)
    beta = fitted.dual_coef_[0]
    assert abs(beta.sum()) < 1e-9
    alpha = beta * np.where(y[fitted.support_] == 1, 1, -1)
    assert np.all(alpha > 0) and np.all(alpha <= 1.5 * weights[fitted.support_])


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_stream_of_rows_comes_close_to_all_rows_at_once(classes, form):
    X, y = cloud(1200, classes=classes)
    stream = LASVM(C=1, gamma=0.3)
    for start in range(0, 1200, 100):
        rows = slice(start, start + 100)
        assert stream.partial_fit(form(X[rows]), y[rows], classes=range(classes)) is stream
    best = SMO(C=1, gamma=0.3).fit(X, y)
    assert best.objective_ <= stream.objective_ < 0.96 * best.objective_
    assert stream.score(X, y) > best.score(X, y) - 0.02
    vectors = stream.support_vectors_
    assert np.array_equal(X[stream.support_], vectors.toarray() if sparse.issparse(vectors) else vectors)


@pytest.mark.parametrize("seed", range(3))
def test_going_on_with_the_same_rows_finishes_the_job(seed):
    """In enough passes: after one, a row that was left out early may violate again."""
    X, y = cloud()
    stream = LASVM(C=2, gamma=0.3, tol=1e-4, random_state=seed).fit(X, y).set_params(epochs=20)
    for _ in range(3):
        stream.partial_fit(X, y)
    best = SMO(C=2, gamma=0.3, tol=1e-5)
    # support vectors and rows again: those with a multiplier are there twice, which changes the problem
    assert stream.gap_ <= 1e-4 and stream.objective_ < best.fit(X, y).objective_


def test_a_stream_may_go_on_with_one_class_and_with_weights():
    X, y = cloud(300)
    by_class = np.argsort(y, kind="stable")
    stream = LASVM(C=1, gamma=0.3).partial_fit(X[:40], y[:40], sample_weight=np.full(40, 2.0))
    for rows in np.array_split(by_class, 6):
        stream.partial_fit(X[rows], y[rows])
        assert set(stream.predict(X)) == {0, 1}
    largest = np.abs(stream.dual_coef_[0])
    first_rows = stream.support_ < 40
    assert largest[first_rows].max() <= 2.0 and largest[~first_rows].max() <= 1.0


def test_what_a_stream_refuses():
    X, y = cloud(60)
    with pytest.raises(InputError, match=r"the first rows must show every class; classes are \[0, 1, 2\]"):
        LASVM().partial_fit(X, y, classes=[0, 1, 2])
    stream = LASVM(C=1).partial_fit(X, y)
    with pytest.raises(InputError, match=r"label .*7.* is new; partial_fit knows \[0, 1\]"):
        stream.partial_fit(X, np.full(60, 7))
    with pytest.raises(ValueError, match="X has 3 features, but LASVM is expecting 4"):
        stream.partial_fit(X[:, :3], y)
    with pytest.raises(InputError, match="C is smaller than when these support vectors were learned"):
        stream.set_params(C=0.01).partial_fit(X, y)
    with pytest.raises(InputError, match="selection must be one of random, gradient, active, got 'greedy'"):
        LASVM(selection="greedy").fit(X, y)


@pytest.mark.parametrize("n", [60, 600])
def test_small_C_where_all_members_are_at_their_bounds(n):
    """A newcomer has no partner among them; two newcomers of both classes have each other."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    ours, reference = LASVM(C=1e-4, epochs=20).fit(X, y), SMO(C=1e-4).fit(X, y)
    assert ours.gap_ <= 1e-3 and ours.objective_ == pytest.approx(reference.objective_, rel=1e-3)
