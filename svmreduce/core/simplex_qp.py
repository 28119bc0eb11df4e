"""Small convex quadratic programs on a simplex, solved exactly by active sets."""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.vector import VECTOR

RIDGE = 1e-13  # of the largest number: nearly equal planes must not make a system singular
ENOUGH = 1e-12  # of the size of the gradients: what rounding leaves of optimality


@njit()
def minimise_on_simplex(H, d, start):
    """The x that minimises ½ xᵀHx − dᵀx subject to x ≥ 0 and Σx = 1.

    Variables above zero form the active face. On it the minimum is a linear system; the way there ends early where
    a variable reaches zero, which then leaves the face. When the face is solved, the variable that promises
    most enters. The objective falls with every face, so none comes back, and the end is exact.

    Parameters
    ----------
    H : array of shape (n, n), positive semidefinite
    d : array of shape (n,)
    start : array of shape (n,)
        A point of the simplex; the closer to the answer, the fewer systems.
    """
    n = d.size
    x, gradient, scale = start.copy(), np.empty(n), 1e-200
    face, size = np.empty(n, np.int64), 0
    for i in range(n):
        scale = max(scale, H[i, i], abs(d[i]))
        if x[i] > 0.0:
            face[size] = i
            size += 1
    factor, known = np.empty((n, n)), 0
    for _ in range(10 * n + 100):
        size, known = _solve_face(H, d, x, face, size, scale, factor, known)
        entering, level, largest = 0, 0.0, 0.0
        for i in range(n):
            gradient[i] = _dot(H[i], x, n) - d[i]
            level += gradient[i] * x[i]  # all equal on the face, up to rounding
            largest = max(largest, abs(gradient[i]) + abs(d[i]))
            if gradient[i] < gradient[entering]:
                entering = i
        if gradient[entering] >= level - ENOUGH * largest or x[entering] > 0.0 or size == n:
            break
        face[size] = entering
        size += 1
    return x


@njit()
def _solve_face(H, d, x, face, size, scale, factor, known):
    """The minimum on the face, or on the smaller one where it ends; ``face`` follows.

    On the face H + scale·11ᵀ does as well as H, and is not singular for want of a constraint. ``factor`` holds its
    Cholesky factor, of which ``known`` rows belong to the face as it is. Returns the face's new size and ``known``.
    """
    wanted, ones, right = np.empty(size), np.empty(size), np.empty(size)
    while True:
        _factorise(H, face, size, scale, factor, known)
        for i in range(size):
            wanted[i], ones[i] = 0.0, 1.0
        _solve(factor, size, ones)
        for _ in range(2):  # the second time takes the ridge out again
            for i in range(size):
                right[i] = d[face[i]]
                for j in range(size):
                    right[i] -= H[face[i], face[j]] * wanted[j]
            _solve(factor, size, right)
            short = (1.0 - _sum(wanted, size) - _sum(right, size)) / _sum(ones, size)
            for i in range(size):
                wanted[i] += right[i] + short * ones[i]
        way = 1.0
        for i in range(size):
            if wanted[i] < 0.0:
                way = min(way, x[face[i]] / (x[face[i]] - wanted[i]))
        kept, known, total = 0, size, 0.0
        for i in range(size):
            now, leaves = x[face[i]], False
            if wanted[i] < 0.0:
                leaves = now / (now - wanted[i]) <= way
            x[face[i]] = 0.0 if leaves else max(0.0, now + way * (wanted[i] - now))
            if x[face[i]] > 0.0:
                total += x[face[i]]
                face[kept] = face[i]
                kept += 1
            else:
                known = min(known, i)
        size = kept
        if way == 1.0:
            for i in range(size):
                x[face[i]] /= total
            return size, known


@njit()
def _factorise(H, face, size, scale, factor, known):
    """The Cholesky factor of H + scale·11ᵀ on the face, from row ``known`` on."""
    least = RIDGE * scale
    for i in range(known, size):
        for j in range(i):
            factor[i, j] = (H[face[i], face[j]] + scale - _dot(factor[i], factor[j], j)) / factor[j, j]
        pivot = H[face[i], face[i]] + scale + least - _dot(factor[i], factor[i], i)
        factor[i, i] = np.sqrt(max(pivot, least))


@njit()
def _solve(factor, size, right):
    for i in range(size):
        right[i] = (right[i] - _dot(factor[i], right, i)) / factor[i, i]
    for i in range(size - 1, -1, -1):
        right[i] /= factor[i, i]
        for j in range(i):
            right[j] -= factor[i, j] * right[i]


@njit(fastmath=VECTOR)
def _dot(a, b, size):
    total = 0.0
    for i in range(size):
        total += a[i] * b[i]
    return total


@njit(fastmath=VECTOR)
def _sum(a, size):
    total = 0.0
    for i in range(size):
        total += a[i]
    return total
