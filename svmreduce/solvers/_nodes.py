"""Rows as LIBSVM and LIBLINEAR want them: runs of (index, value) nodes closed by index -1."""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import contextmanager

import numpy as np
from scipy import sparse

NODE = np.dtype([("index", np.int32), ("value", np.float64)], align=True)


@contextmanager
def threads_that_sleep():
    """OpenMP loaded in this block waits asleep: spinning threads slow each other down on a busy machine."""
    name, before = "OMP_WAIT_POLICY", os.environ.get("OMP_WAIT_POLICY")
    os.environ.setdefault(name, "passive")
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]


def node_rows(X, spare: int):
    """All rows in one array of nodes, ``spare`` closing nodes each, and the address of every row.

    Filled by whole-array operations: no loop over rows, nothing to compile, so the time it takes is
    the cost of the copy and little more.
    """
    if not sparse.issparse(X) and np.count_nonzero(X) == X.size:
        return _full_rows(X, spare)
    X = sparse.csr_matrix(X)
    X.sort_indices()
    counts = np.diff(X.indptr).astype(np.int64)
    begins = X.indptr[:-1].astype(np.int64) + spare * np.arange(X.shape[0])
    nodes = np.zeros(X.nnz + spare * X.shape[0], dtype=NODE)
    nodes["index"] = -1
    places = np.arange(X.nnz) + spare * np.repeat(np.arange(X.shape[0]), counts)
    nodes["index"][places] = X.indices + 1
    nodes["value"][places] = X.data
    addresses = (nodes.ctypes.data + begins * NODE.itemsize).astype(np.uintp)
    return nodes, addresses, begins + counts


def _full_rows(X: np.ndarray, spare: int):
    """The same for rows without a single zero: every row has the same indices."""
    n, d = X.shape
    nodes = np.zeros((n, d + spare), dtype=NODE)
    nodes["index"][:, :d] = np.arange(1, d + 1)
    nodes["index"][:, d:] = -1
    nodes["value"][:, :d] = X
    begins = np.arange(n) * (d + spare)
    addresses = (nodes.ctypes.data + begins * NODE.itemsize).astype(np.uintp)
    return nodes.reshape(-1), addresses, begins + d


def pointer(array: np.ndarray, kind):
    """The array's memory as a C pointer; the caller keeps the array alive."""
    return ctypes.cast(array.ctypes.data, kind)


def default_options(kind):
    """The library's parameters at their defaults.

    Its own constructor would also replace the process-wide print function while a fit may be running in
    another thread.
    """
    options = kind.__new__(kind)
    options.set_to_default_values()
    return options


class LogTap:
    """Catches what a C library prints while it trains.

    The library has one print function per process, so ours sorts the text by the calling thread:
    two fits at once do not read each other's log.
    """

    def __init__(self, callback_type, install):
        self._local = threading.local()
        self._callback = callback_type(self._hear)  # kept: C holds only its address
        self._install = install

    def _hear(self, text: bytes) -> None:
        pieces = getattr(self._local, "pieces", None)
        if pieces is not None:
            pieces.append(text)

    def record(self, call) -> tuple[object, str]:
        """Run ``call()`` and give back its result and the text printed meanwhile."""
        self._install(self._callback)
        self._local.pieces = []
        try:
            result = call()
            return result, b"".join(self._local.pieces).decode("ascii", "replace")
        finally:
            self._local.pieces = None
