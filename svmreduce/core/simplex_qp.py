"""Small convex quadratic programs on a simplex, solved exactly by active sets."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lu_factor, lu_solve

RIDGE = 1e-13  # of the largest number: nearly equal planes must not make a system singular
ENOUGH = 1e-12  # of the size of the gradients: what rounding leaves of optimality


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
    x = start.copy()
    face = list(np.flatnonzero(x > 0))
    ridge = RIDGE * max(H.diagonal().max(), np.abs(d).max(), 1e-200)
    for _ in range(10 * len(d) + 100):
        x = _solve_face(H, d, x, face, ridge)
        gradient = H @ x - d
        level = gradient[face] @ x[face]  # all equal on the face, up to rounding
        entering = int(np.argmin(gradient))
        if gradient[entering] >= level - ENOUGH * (np.abs(gradient).max() + np.abs(d).max()) or entering in face:
            break
        face.append(entering)
    return x


def _solve_face(H, d, x, face, ridge):
    """The minimum on the face, or on the smaller one where it ends; ``face`` follows."""
    while True:
        size = len(face)
        system = np.ones((size + 1, size + 1))
        system[:size, :size] = H[np.ix_(face, face)]
        system[size, size] = 0.0
        right = np.append(d[face], 1.0)
        factors = lu_factor(system + np.diag([ridge] * size + [0.0]), check_finite=False)
        wanted = lu_solve(factors, right, check_finite=False)
        wanted += lu_solve(factors, right - system @ wanted, check_finite=False)  # takes the ridge out again
        wanted = wanted[:size]
        now = x[face]
        if wanted.min() >= 0:
            x = np.zeros_like(x)
            x[face] = wanted / wanted.sum()
            return x
        falling = wanted < 0
        ways = now[falling] / (now[falling] - wanted[falling])
        now = now + ways.min() * (wanted - now)
        now[np.flatnonzero(falling)[ways <= ways.min()]] = 0.0
        x = np.zeros_like(x)
        x[face] = np.maximum(now, 0.0)
        face[:] = [variable for variable, value in zip(face, now, strict=True) if value > 0]
