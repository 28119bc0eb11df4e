"""Choosing C, gamma and epsilon by cross-validation."""

from svmreduce.search.search_cv import SVMSearchCV

__all__ = ["SVMSearchCV"]
