"""Cutting rows into cells of near neighbours by kernel distance.

``halve`` is the paper's FLS2 step, ``cut_cell`` one of its SLS: the V rows nearest to a centre are cut off as
a cell, and the row just beyond the cut is the next centre.

Distances are k(x,x) + k(z,z) − 2k(x,z) in double, as the paper has them. For a narrow rbf kernel far rows
therefore tie (exp underflows against 1), and ties go to the earlier row.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.tiles import KMOD, POLY, RADIAL, RBF, SCATTER, SIGMOID
from svmreduce.core.vector import VECTOR, kmod, phi


@njit(fastmath=VECTOR)
def _dense_products(X, centre, rows, want_distances, out):
    """Squared distances to, or products with, one row."""
    z = X[centre]
    for i in range(rows.size):
        x = X[rows[i]]
        total = 0.0
        if want_distances:
            for f in range(z.size):
                u = x[f] - z[f]
                total += u * u
        else:
            for f in range(z.size):
                total += x[f] * z[f]
        out[i] = total


@njit()
def _sparse_products(data, indices, indptr, norm, centre, rows, want_distances, room, out):
    """The same for CSR rows; ``room`` is all zeros, one entry per feature, and is left so."""
    begin, end = indptr[centre], indptr[centre + 1]
    for p in range(begin, end):
        room[indices[p]] = data[p]
    for i in range(rows.size):
        total = 0.0
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            total += data[p] * room[indices[p]]
        out[i] = max(0.0, norm[rows[i]] + norm[centre] - 2.0 * total) if want_distances else total
    for p in range(begin, end):
        room[indices[p]] = 0


@njit()
def _kernel_distances(parameters, arrays, diagonal, centre, rows, room, out):
    """out[i] = ||φ(rows[i]) − φ(centre)||²"""
    mode, code, gamma, coef0, degree = parameters
    X, data, indices, indptr, norm = arrays
    if mode == SCATTER:
        _sparse_products(data, indices, indptr, norm, centre, rows, code in RADIAL, room, out)
    else:
        _dense_products(X, centre, rows, code in RADIAL, out)
    for i in range(rows.size):
        k = out[i]
        if code == RBF:
            k = np.exp(-gamma * k)
        elif code == POLY:
            k = (gamma * k + coef0) ** degree
        elif code == SIGMOID:
            k = np.tanh(gamma * k + coef0)
        elif code == KMOD:
            k = kmod(gamma * k, coef0, phi(coef0))
        out[i] = diagonal[rows[i]] + diagonal[centre] - 2.0 * k


@njit()
def _split(rows, distance, count, near, far):
    """The ``count`` nearest rows and the others, each in their old order; returns the nearest other.

    ``far`` may be ``rows`` itself: no entry is written before it was read.
    """
    cut = np.partition(distance, count - 1)[count - 1]
    ties = count  # rows at the cut itself that still belong to the near ones
    for i in range(rows.size):
        ties -= distance[i] < cut
    a = b = 0
    next_centre, next_distance = -1, np.inf
    for i in range(rows.size):
        if distance[i] < cut or (distance[i] == cut and ties > 0):
            ties -= distance[i] == cut
            near[a] = rows[i]
            a += 1
        else:
            if distance[i] < next_distance:
                next_centre, next_distance = rows[i], distance[i]
            far[b] = rows[i]
            b += 1
    return next_centre


@njit()
def halve(parameters, arrays, diagonal, room, rows):
    """The half of the rows that is nearer to the first of them, and the other half."""
    distance = np.empty(rows.size)
    _kernel_distances(parameters, arrays, diagonal, rows[0], rows, room, distance)
    half = rows.size // 2
    near, far = np.empty(half, np.int64), np.empty(rows.size - half, np.int64)
    _split(rows, distance, half, near, far)
    return near, far


@njit()
def cut_cell(parameters, arrays, diagonal, room, rows, centre, distance, cell):
    """Move the rows nearest to ``centre`` from the front part of ``rows`` into ``cell``, as many as it holds.

    The others are moved together in place. ``distance`` is room for as many numbers. Returns the next centre.
    """
    _kernel_distances(parameters, arrays, diagonal, centre, rows, room, distance)
    return _split(rows, distance, cell.size, cell, rows)
