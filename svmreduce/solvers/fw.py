"""FW: the Frank-Wolfe method for L2-SVMs."""

from __future__ import annotations

from svmreduce.solvers._enclosing_ball import EnclosingBallSVM


class FW(EnclosingBallSVM):
    """L2-SVM by Frank-Wolfe steps: the centre of a ball moves toward the farthest row.

    No problem within the problem is solved: the length of a step is a formula. Weights of rows that turn out useless
    only fade, so the end is slow; ``MFW`` cures that. From "Training Support Vector Machines Using Frank-Wolfe
    Optimization Methods", Algorithm 2, with these departures: rows found outside the ball stay in view, with their
    kernel values, so that most steps need no new sample; samples are balanced, and several must be quiet.

    Parameters
    ----------
    C : float, default=1.0
        Price of half a squared slack.
    kernel : {"linear", "poly", "rbf"}, default="rbf"
        Any positive definite one. For kernels whose k(x, x) varies, the norm Δ² of a row in the stopping rule is that
        of the largest row; line searches use the row's own.
    gamma : float or {"scale", "auto", "auto-distance"}, default="scale"
    coef0 : float, default=0.0
    degree : int, default=3
    tol : float, default=1e-6
        ε of the papers: in the end the ball, widened by 1 + ε, holds the rows.
    selection : {"sampled", "exact"}, default="sampled"
        Where to look for rows outside the ball: in random samples, whose cost does not depend on the number of rows,
        or among all rows. Small problems turn exact by themselves.
    sample_size : int, default=59
        Rows of a sample, half from each class.
    quiet_samples : int, default=5
        How many samples in a row must lie in the ball at the end: one is weak evidence.
    start_rows : int, default=20
        Random rows of the first ball.
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

    _method = "fw"
