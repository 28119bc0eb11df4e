"""Train SVMs fast by training on less, and measure what that buys."""

import importlib
from typing import Any

__version__ = "0.2.0"

_EXPORTS = {
    "BaseReducer": "svmreduce.reducers.base",
    "Choices": "svmreduce.data.preparation",
    "KernelModel": "svmreduce.model",
    "PreparedModel": "svmreduce.model",
    "ReducedSolver": "svmreduce.pipeline",
    "Reduction": "svmreduce.types",
    "SVMClassifier": "svmreduce.solvers.base",
    "SVMRegressor": "svmreduce.solvers.base",
    "SVMSearchCV": "svmreduce.search",
    "load_dataset": "svmreduce.data.formats",
    "load_model": "svmreduce.model",
    "load_training": "svmreduce.data.formats",
}
for _kind in ("solvers", "reducers"):  # every built-in method by the name of its class; the tables import nothing
    _table = getattr(importlib.import_module(f"svmreduce.{_kind}"), _kind.upper()).where
    _EXPORTS |= {name: module for module, name in (where.split(":") for where in _table.values())}
__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:  # imported on first use, so that the command line starts at once
    if name not in _EXPORTS:
        raise AttributeError(f"module 'svmreduce' has no attribute {name!r}")
    return getattr(importlib.import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
