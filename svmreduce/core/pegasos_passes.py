"""Passes of Pegasos: the next row, its margin, and a step when the margin is below one.

With the step size 1/(λt) the weights after step t are U/(λt), where U = Σ g·y·x sums the rows that
violated their margin so far (g is the gain of a row, 1 without weights). So nothing is ever rescaled: a step
is one dot product and, for a violator, one sum. Next to every sum is a second one, with each term times its
step number, from which the mean of all iterates follows.
"""

from __future__ import annotations

from svmreduce.core.jit import njit
from svmreduce.core.vector import VECTOR


@njit(fastmath=VECTOR)
def dense_pass(X, y, gain, order, step, lam, bias, sums, visits):
    """One step for every row of ``order``; ``step`` have been made before.

    ``sums`` (2, d + 1) and ``visits`` (2, n) are written in place: sums over violators of g·y·x and of g, and
    both again times the step number. The last column of ``sums`` belongs to the constant feature ``bias``.
    """
    d = X.shape[1]
    plain, timed = sums[0], sums[1]
    for i in order:
        x = X[i]
        dot = plain[d] * bias
        for f in range(d):
            dot += plain[f] * x[f]
        if y[i] * dot <= lam * step:
            g = gain[i] * y[i]
            h = g * (step + 1)
            for f in range(d):
                plain[f] += g * x[f]
                timed[f] += h * x[f]
            plain[d] += g * bias
            timed[d] += h * bias
            visits[0, i] += gain[i]
            visits[1, i] += gain[i] * (step + 1)
        step += 1


@njit(fastmath=VECTOR)
def sparse_pass(data, indices, indptr, y, gain, order, step, lam, bias, sums, visits):
    """``dense_pass`` for rows in CSR form."""
    d = sums.shape[1] - 1
    plain, timed = sums[0], sums[1]
    for i in order:
        begin, end = indptr[i], indptr[i + 1]
        dot = plain[d] * bias
        for p in range(begin, end):
            dot += plain[indices[p]] * data[p]
        if y[i] * dot <= lam * step:
            g = gain[i] * y[i]
            h = g * (step + 1)
            for p in range(begin, end):
                plain[indices[p]] += g * data[p]
                timed[indices[p]] += h * data[p]
            plain[d] += g * bias
            timed[d] += h * bias
            visits[0, i] += gain[i]
            visits[1, i] += gain[i] * (step + 1)
        step += 1


@njit()
def kernel_steps(K, y, gain, values, step, lam, steps):
    """The same steps for a block of rows with kernel values K among them (flat, b × b).

    ``values`` are Σ g·y·k over all violators so far, for the rows of the block; they are kept up to date
    within it. ``steps`` gets the number of the step that moved a row, 0 for none.
    """
    b = y.size
    for i in range(b):
        steps[i] = 0
        if y[i] * values[i] <= lam * (step + i):
            steps[i] = step + i + 1
            g = gain[i] * y[i]
            for j in range(i + 1, b):
                values[j] += g * K[i * b + j]
