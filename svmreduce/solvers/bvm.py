"""BVM: the ball vector machine."""

from __future__ import annotations

from svmreduce.solvers._enclosing_ball import EnclosingBallSVM


class BVM(
    EnclosingBallSVM,
    parameters="C kernel gamma tol selection sample_size quiet_samples certify cache_mb max_iter threads random_state "
    "probability",
):
    """L2-SVM from a ball of fixed radius, moved just far enough to touch the row outside.

    After Tsang, Kocsor and Kwok, "Simpler core vector machines with enclosing balls". The radius is √k̃(x, x), the
    factor 1 + ε by which the ball is widened shrinks from 1.5 to 1 + ``tol``. Nothing is optimised, so the centre is
    near that of the smallest ball, not on it: ``gap_``, which measures against the smallest ball, stays above ``tol``.

    Parameters
    ----------
    kernel : {kernels}
        The radius is known beforehand only where k(x, x) is the same for all rows.
    """

    kernels = ("rbf",)
    accepts_weights = False
    weights_reason = (
        "its ball has one radius, so there is one C for all rows; the solvers 'mfw', 'cvm' and 'smo' take weights"
    )
    _method = "bvm"
    coef0, degree, start_rows = 0.0, 3, 20  # fixed; the other three let one choose
