"""Train SVMs fast by training on less, and measure what that buys."""

import importlib

__version__ = "0.1.0"

_EXPORTS = {
    "AESVC": "svmreduce.aesvm",
    "BootstrapCleaning": "svmreduce.reducers.bootstrap",
    "DeriveRS": "svmreduce.reducers.derive_rs",
    "KernelModel": "svmreduce.model",
    "RandomSample": "svmreduce.reducers.random",
    "SMO": "svmreduce.solvers.smo",
    "load_dataset": "svmreduce.data.formats",
    "load_model": "svmreduce.model",
}
__all__ = sorted(_EXPORTS)


def __getattr__(name):  # imported on first use, so that the command line starts at once
    if name not in _EXPORTS:
        raise AttributeError(f"module 'svmreduce' has no attribute {name!r}")
    return getattr(importlib.import_module(_EXPORTS[name]), name)
