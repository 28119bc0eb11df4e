"""Solutions along C on one kernel matrix, where not all rows fit into the block of the pair steps."""

import numpy as np

from svmreduce.core.cost_paths import block_shape, solve_path


def test_rows_sorted_by_class_and_a_small_block():
    """All rows violate alike at first; the few that there is room for must be of both classes. What was in the room
    before does not count."""
    random = np.random.default_rng(0)
    target = np.where(np.arange(400) < 380, -1.0, 1.0)
    X = random.normal(size=(400, 2)) + target[:, None]
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(np.float32)
    C, facts = np.array([1.0, 100.0]), np.zeros((2, 3))
    f, beta = np.empty((2, 400)), np.empty((2, 400))
    lower, upper = np.where(target < 0, -1.0, 0.0), np.where(target > 0, 1.0, 0.0)
    block = np.full(block_shape(40), np.nan, np.float32)
    solve_path(K, np.float32(1), 400, np.arange(400), target, lower, upper, C, 1e-3, 10**6, block, f, beta, facts)
    assert (facts[:, 1] <= 1e-3).all() and (np.abs(beta) > 0).sum() > 20
    assert abs(beta.sum()) < 1e-9
