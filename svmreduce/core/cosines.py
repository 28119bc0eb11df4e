"""Random Fourier features: from projections to cosines, in place."""

from __future__ import annotations

from svmreduce.core.jit import njit
from svmreduce.core.vector import VECTOR, cos_of_turns


@njit(fastmath=VECTOR)
def cosines(A, phases, scale):
    """A[i, j] = scale·cos(A[i, j] + phases[j])."""
    one_turn = 0.15915494309189535  # 1/(2π)
    for i in range(A.shape[0]):
        a = A[i]
        for j in range(A.shape[1]):
            a[j] = scale * cos_of_turns((a[j] + phases[j]) * one_turn)
