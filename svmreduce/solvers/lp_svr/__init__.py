"""LP-SVR: the method (``lp_svr.py``), its search over working sets, and the linear program of one working set."""

from svmreduce.solvers.lp_svr.lp_svr import LPSVC, LPSVR

__all__ = ["LPSVC", "LPSVR"]
