"""RandSVM: the method (``randsvm.py``) and the rounds of one two-class problem."""

from svmreduce.solvers.randsvm.randsvm import RandSVM, support_limit

__all__ = ["RandSVM", "support_limit"]
