"""BVM: the ball vector machine."""

from __future__ import annotations

from svmreduce.solvers._enclosing_ball import EnclosingBallSVM


class BVM(EnclosingBallSVM):
    """L2-SVM from a ball of fixed radius, moved just so far that it touches the row outside.

    After Tsang, Kocsor and Kwok, "Simpler core vector machines with enclosing balls". The radius is √k̃(x, x), the
    factor 1 + ε by which the ball is widened shrinks from 1.5 to 1 + ``tol``. Nothing is optimised, so the centre is
    near that of the smallest ball, not on it: ``gap_``, which measures against the smallest ball, stays above ``tol``.

    Parameters
    ----------
    C : float, default=1.0
        Price of half a squared slack.
    kernel : "rbf"
        The radius is known beforehand only where k(x, x) is the same for all rows.
    gamma : float or {"scale", "auto", "auto-distance"}, default="scale"
    tol : float, default=1e-6
        ε of the papers: in the end the ball, widened by 1 + ε, holds the rows.
    selection : {"sampled", "exact"}, default="sampled"
        Where to look for rows outside the ball: in random samples, whose cost does not depend on the number of rows,
        or among all rows. Small problems turn exact by themselves.
    sample_size : int, default=59
        Rows of a sample, half from each class.
    quiet_samples : int, default=5
        How many samples in a row must lie in the ball at the end: one is weak evidence.
    certify : bool, default=True
        State in ``gap_`` the ε that holds for all rows, in double, at the price of one pass over them. Without it
        ``gap_`` is None after sampled selection.
    cache_mb : float, default=1024
        Memory for kernel values.
    max_iter : int, default=-1
        Steps per two-class problem; -1 for max(10⁷, 100·rows).
    threads : int or None
        None takes every core this process may use; the steps themselves run on one.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    steps_ : dict
        Steps ``toward`` a row, ``away`` from one and those of them that ``drop`` it, ``pair`` steps, and rows
        ``taken_in``.
    gap_ : float or None
        The ε reached, of the worst pair of classes; ``converged_`` says whether the rule of the end was met.
    """

    kernels = ("rbf",)
    accepts_weights = False
    weights_reason = (
        "its ball has one radius, so there is one C for all rows; the solvers 'mfw', 'cvm' and 'smo' take weights"
    )
    _method = "bvm"

    def __init__(
        self,
        C=1.0,
        kernel="rbf",
        gamma="scale",
        tol=1e-6,
        selection="sampled",
        sample_size=59,
        quiet_samples=5,
        certify=True,
        cache_mb=1024,
        max_iter=-1,
        threads=None,
        random_state=0,
    ):
        super().__init__(
            C, kernel, gamma, tol=tol, selection=selection, sample_size=sample_size, quiet_samples=quiet_samples,
            certify=certify, cache_mb=cache_mb, max_iter=max_iter, threads=threads, random_state=random_state,
        )  # fmt: skip
