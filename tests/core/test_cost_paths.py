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
    solve_path(K, 400, np.arange(400), target, lower, upper, C, 1e-3, 10**6, block, f, beta, facts)
    assert (facts[:, 1] <= 1e-3).all() and (np.abs(beta) > 0).sum() > 20
    assert abs(beta.sum()) < 1e-9


def test_rows_that_are_held_out_have_their_values_at_every_cost():
    """In one piece, in two, and as single rows among the others; C grows by little and by much."""
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 2))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(np.float32)
    target = np.where(np.sin(3 * X[:, 0]) + 0.3 * random.normal(size=600) > 0, 1.0, -1.0)
    C = np.array([1e-4, 0.5, 0.6, 100.0])
    for out in (np.arange(200, 300), np.r_[:70, 530:600], np.arange(0, 600, 7)):
        rows = np.setdiff1d(np.arange(600), out)
        y, facts = target[rows], np.zeros((4, 3))
        f, beta = np.empty((4, 600)), np.empty((4, rows.size))
        block = np.full(block_shape(rows.size), np.nan, np.float32)
        solve_path(K, 600, rows, y, np.minimum(y, 0), np.maximum(y, 0), C, 1e-3, 10**6, block, f, beta,
                   facts)  # fmt: skip
        assert (facts[:, 1] <= 1e-3).all()
        np.testing.assert_allclose(f, beta @ K[rows].astype(np.float64), rtol=0, atol=1e-9 * C[:, None].max())
