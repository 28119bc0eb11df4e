"""Bootstrap cleaning: the method (``bootstrap.py``), its bundle of weak SVMs, and the rules for what to keep."""

from svmreduce.reducers.bootstrap.bootstrap import BootstrapCleaning

__all__ = ["BootstrapCleaning"]
