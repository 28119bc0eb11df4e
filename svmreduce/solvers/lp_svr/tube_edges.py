"""The edges of the tube that a linear program of the LP-SVR holds."""

from __future__ import annotations

import numpy as np

from svmreduce.solvers.lp_svr.tube_program import LOWER

SIDES = (1, -1)  # above the tube, below it


class Edges:
    """Edges that are variables: their rows, sides, places in the basis, and whether they were here before."""

    def __init__(self, n: int):
        self.rows, self.sides = np.empty(0, np.int64), np.empty(0)
        self.status = np.empty(0, np.int8)
        self.inside = {side: np.zeros(n, bool) for side in SIDES}
        self.left = {side: np.zeros(n, bool) for side in SIDES}
        self.stays = np.empty(0, bool)  # a second return is the last: that is what makes an end certain

    def add(self, rows, side: int):
        self.rows = np.concatenate([self.rows, rows])
        self.sides = np.concatenate([self.sides, np.full(rows.size, float(side))])
        self.status = np.concatenate([self.status, np.full(rows.size, LOWER, np.int8)])
        self.stays = np.concatenate([self.stays, self.left[side][rows]])
        self.inside[side][rows] = True

    def drop(self, gone):
        for side in SIDES:
            rows = self.rows[gone & (self.sides == side)]
            self.inside[side][rows], self.left[side][rows] = False, True
        kept = ~gone
        self.rows, self.sides, self.status = self.rows[kept], self.sides[kept], self.status[kept]
        self.stays = self.stays[kept]


def contest(rng, amount, winners: int):
    """Positions of the worst: shuffled into groups, the largest of each group.

    The worst of all is always there, but not its near twins only.
    """
    if amount.size <= winners:
        return np.arange(amount.size)
    order = rng.permutation(amount.size)
    group = np.arange(amount.size) * winners // amount.size
    ranked = np.lexsort((-amount[order], group))
    return order[ranked[np.searchsorted(group, np.arange(winners))]]
