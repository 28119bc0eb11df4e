"""CVM and BVM: what is their own."""

import numpy as np
import pytest

from svmreduce.data.synthetic import make
from svmreduce.errors import InputError
from svmreduce.solvers.bvm import BVM
from svmreduce.solvers.cvm import CVM
from svmreduce.solvers.mfw import MFW
from svmreduce.solvers.smo import SMO
from tests.ball import dual_matrix, gap_of, row_norm

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_core_set_grows_by_one_row_at_a_time():
    """What has weight in the end was taken in, or stood at the start."""
    data = make("checkerboard", 900, seed=0)
    fitted = CVM(C=10.0, gamma=2.0, start_rows=5).fit(data.X, data.y)
    assert fitted.converged_ and fitted.gap_ <= 1e-6
    assert len(fitted.support_) <= fitted.steps_["taken_in"] + 5 < 900
    assert fitted.steps_["pair"] == fitted.n_iter_ > 0 and fitted.steps_["toward"] == fitted.steps_["away"] == 0


def test_the_core_set_has_the_ball_of_all_rows():
    """The optimum of the rows with weight alone is that of the whole problem."""
    data = make("checkerboard", 900, seed=0)
    whole = CVM(C=10.0, gamma=2.0, tol=1e-8).fit(data.X, data.y)
    core = MFW(C=10.0, gamma=2.0, tol=1e-8).fit(data.X[whole.support_], data.y[whole.support_])
    assert core.objective_ == pytest.approx(whole.objective_, rel=1e-5)


def test_the_order_of_the_methods_by_objective():
    """A ball of fixed radius is near the smallest one, but it is not optimised."""
    data, test = make("checkerboard", 3000, seed=0), make("checkerboard", 2000, seed=1)
    cvm, bvm = (solver(C=10.0, gamma=2.0).fit(data.X, data.y) for solver in (CVM, BVM))
    assert -0.5 / bvm.objective_ > -0.5 / cvm.objective_
    assert bvm.converged_ and cvm.gap_ <= 1e-6 < bvm.gap_
    smo = SMO(C=10.0, gamma=2.0).fit(data.X, data.y)
    for fitted in (cvm, bvm):
        assert fitted.score(test.X, test.y) > smo.score(test.X, test.y) - 0.01


@pytest.mark.parametrize("selection", ["sampled", "exact"])
def test_the_gap_of_a_ball_of_fixed_radius_is_true(selection):
    data = make("checkerboard", 1100, seed=0)
    fitted = BVM(C=5.0, gamma=2.0, tol=1e-4, selection=selection).fit(data.X, data.y)
    ridge = np.full(1100, 0.2)
    Q, size = dual_matrix(fitted.model_.kernel, data.X, data.y, ridge), row_norm(fitted.model_.kernel, data.X, ridge)
    alpha = np.zeros(1100)
    alpha[fitted.support_] = np.abs(fitted.dual_coef_[0])
    assert fitted.gap_ == pytest.approx(gap_of(Q, alpha / alpha.sum(), size), rel=1e-6)


def test_a_finer_ball_of_fixed_radius_is_nearer_to_the_smallest():
    data = make("checkerboard", 2000, seed=0)
    norms = [-0.5 / BVM(C=10.0, gamma=2.0, tol=tol).fit(data.X, data.y).objective_ for tol in (1e-2, 1e-3, 1e-4, 1e-6)]
    assert np.all(np.diff(norms) < 0)


@pytest.mark.parametrize("solver", [CVM, BVM])
def test_the_tolerance_of_libcvm_grows_as_c_falls(solver):
    """By hand for the Gaussian kernel: κ = 2; and the looser ball needs fewer rows."""
    data = make("checkerboard", 1500, seed=0)
    loose, fine = (solver(C=1 / 16, gamma=2.0, tol=tol).fit(data.X, data.y) for tol in ("auto", 1e-6))
    assert loose.tol_ == loose.fit_facts().sampled_to == pytest.approx((2e-6 + 32 / 15_000) / 36)
    assert fine.tol_ == 1e-6 and fine.gap_ < loose.gap_ and len(loose.support_) < len(fine.support_)
    assert solver(C=64.0, gamma=2.0, tol="auto").fit(data.X, data.y).tol_ == pytest.approx(1.013e-6, rel=1e-3)


def test_the_tolerance_of_libcvm_knows_the_longest_row():
    data = make("checkerboard", 300, seed=0)
    size = (data.X**2).sum(axis=1).max() + 1
    fitted = CVM(C=2.0, kernel="linear", tol="auto").fit(data.X, data.y)
    assert fitted.tol_ == pytest.approx((4e-6 / size + 1 / 15_000) / (2 * size + 1), rel=1e-6)


def test_bvm_needs_rows_of_one_norm():
    data = make("checkerboard", 50, seed=0)
    with pytest.raises(InputError, match="unknown kernel of BVM 'linear': known are rbf"):
        BVM(kernel="linear").fit(data.X, data.y)
    with pytest.raises(InputError, match="BVM cannot take sample_weight: its ball has one radius"):
        BVM().fit(data.X, data.y, sample_weight=np.ones(50))
