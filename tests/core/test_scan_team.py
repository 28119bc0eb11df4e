"""Pair steps by a leader and an assistant: the same to the bit as alone, and nobody waits for one who does not come."""

import threading
import time

import numpy as np
import pytest

from svmreduce.core import scan_team
from svmreduce.core.compact_steps import LONGEST, compact_steps
from svmreduce.core.pair_scans import TOGETHER
from svmreduce.core.pair_steps import optimise_block_in_time
from svmreduce.core.scan_team import ANSWERS, PRESENT, assist, dismiss, new_team, padded


def _problem(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(np.float32), y


def _steps(K, y, C, copy, with_assistant, max_steps=10**6):
    n = y.size
    rows, team = np.arange(n).astype(np.uint64), new_team()
    wide = padded(n) + TOGETHER
    block, filled = np.full((n, wide), np.nan, np.float32), np.zeros(n, np.int64)
    if not copy:
        block[:], filled[:] = 0.0, n
        block[:, :n] = K
    state, beta = np.empty(4 * padded(n), np.float32), np.zeros(n)
    if with_assistant:
        helper = threading.Thread(target=assist, args=(team, K, rows, block, state))
        helper.start()
        while team[PRESENT] == 0:
            time.sleep(0.001)
    steps = compact_steps(team, K, rows, block, filled, beta, y.astype(np.float32), np.where(y > 0, 0.0, -C),
                          np.where(y > 0, C, 0.0), 1e-3, max_steps, state, np.empty(LONGEST + 2, np.int64),
                          np.empty((3, n)))  # fmt: skip
    assert (team[ANSWERS] > 0) == with_assistant  # it took part, even if it was dismissed because its core was taken
    dismiss(team)
    if with_assistant:
        helper.join(20)
        assert not helper.is_alive()
    return steps, beta


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("n, C", [(33, 1.0), (64, 1e3), (200, 0.1), (700, 10.0)])
def test_an_assistant_changes_no_bit(n, C, copy):
    K, y = _problem(n, seed=n)
    steps, beta = _steps(K, y, C, copy, with_assistant=False)
    helped = _steps(K, y, C, copy, with_assistant=True)
    assert helped[0] == steps > 5
    np.testing.assert_array_equal(helped[1], beta)


def test_one_who_comes_too_late_goes_away():
    team, K = new_team(), np.eye(40, dtype=np.float32)
    dismiss(team)
    assist(team, K, np.arange(40).astype(np.uint64), K, np.zeros(4 * 48, np.float32))


def test_blocks_of_many_members_are_solved_alike_on_one_and_two_threads():
    n = scan_team.LEAST_SHARED + 40
    K, y = _problem(n, seed=0)
    flat = np.append(K.ravel(), np.zeros(2 * TOGETHER, np.float32))
    found = []
    for threads in (1, 2, 3):
        beta, v = np.zeros(n), y.copy()
        problem = flat, n, np.ones(n, np.float32), beta, v, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0)
        found.append((optimise_block_in_time(*problem, 1e-3, 10**6, threads=threads), beta, v))
    for (steps, high, low), beta, v in found:
        assert high - low <= 1e-3
        assert (steps, high, low) == found[0][0]
        np.testing.assert_array_equal(beta, found[0][1])
        np.testing.assert_array_equal(v, found[0][2])
