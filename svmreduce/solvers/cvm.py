"""CVM: the core vector machine."""

from __future__ import annotations

from svmreduce.solvers._enclosing_ball import EnclosingBallSVM


class CVM(EnclosingBallSVM):
    """L2-SVM by core sets: the farthest row joins, and the ball of the core set is solved again.

    After Tsang, Kwok and Cheung, "Core vector machines"; the Frank-Wolfe methods are compared with it. The ball of the
    core set is found by pair steps (SMO), begun at the last one. Its kernel matrix stays in memory; when the core set
    outgrows ``cache_mb``, rows of it are computed again as they are needed. As k(x, x) does not enter its steps,
    kernels need not be normalised.
    """

    _method = "cvm"
