"""MFW: the modified Frank-Wolfe method, with away steps, for L2-SVMs."""

from __future__ import annotations

from svmreduce.solvers._enclosing_ball import EnclosingBallSVM


class MFW(EnclosingBallSVM):
    """L2-SVM by Frank-Wolfe steps that may also go away from the nearest active row.

    Of the two directions the steeper one is taken. An away step takes weight from a row that has too much, and
    drops it when none is left, so that the end is reached fast. Algorithm 3 of "Training Support Vector Machines Using
    Frank-Wolfe Optimization Methods"; after an away step its r² has a wrong sign in print, and is here what
    Φ((1+λ)α − λe) gives. The departures of ``FW`` hold here, too.
    """

    _method = "mfw"
