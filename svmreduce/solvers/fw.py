"""FW: the Frank-Wolfe method for L2-SVMs."""

from __future__ import annotations

from svmreduce.solvers._enclosing_ball import EnclosingBallSVM


class FW(EnclosingBallSVM):
    """L2-SVM by Frank-Wolfe steps: the centre of a ball moves toward the farthest row.

    No subproblem is solved: the length of a step is a formula. Weights of rows that turn out useless
    only fade, so the end is slow; ``MFW`` fixes that. From "Training Support Vector Machines Using Frank-Wolfe
    Optimization Methods", Algorithm 2, with these departures: rows found outside the ball stay in view, with their
    kernel values, so that most steps need no new sample; samples are balanced, and several must be quiet.
    """

    _method = "fw"
