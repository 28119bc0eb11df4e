"""Pair steps by a leader and an assistant: the same to the bit as alone, and nobody waits for one who does not come."""

import threading
import time

import numpy as np
import pytest

from svmreduce.core import scan_team
from svmreduce.core.block_solver import optimise_block_in_time
from svmreduce.core.compact_steps import LONGEST, assist, compact_steps
from svmreduce.core.pair_scans import TOGETHER
from svmreduce.core.scan_team import new_team, padded


def _problem(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(np.float32), y


def _steps(K, y, C, copy, with_assistant, ends=False, max_steps=10**6):
    n = y.size
    rows, team = np.arange(n).astype(np.uint64), new_team() if with_assistant else np.empty(0, np.int64)
    if ends:  # what the leader says in its first message
        team[scan_team._OWN + scan_team._ENDS] = 1
    wide = padded(n) + TOGETHER
    block, filled = np.full((n, wide), np.nan, np.float32), np.zeros((2, n), np.int64)
    if not copy:
        block[:], filled[:] = 0.0, n
        block[:, :n] = K
    states, beta = np.full((2, 4 * padded(n)), np.nan, np.float32), np.zeros(n)
    bounds = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)

    def room():
        return states, np.empty(LONGEST + 2, np.int64), np.empty((3, n))

    helped = np.full(n, np.nan)
    if with_assistant:
        helper = threading.Thread(target=assist, args=(team, K, rows, block, filled, beta, *bounds, 1e-3, max_steps,
                                                       *room(), helped))  # fmt: skip
        helper.start()
        while team[0] == 0:
            time.sleep(0.001)
    steps = compact_steps(team, K, rows, block, filled, beta, y.astype(np.float32), *bounds, 1e-3, max_steps, *room())
    if with_assistant:
        helper.join(20)
        assert not helper.is_alive()
    return steps, beta, helped


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("n, C", [(33, 1.0), (64, 1e3), (200, 0.1), (700, 10.0)])
def test_an_assistant_changes_no_bit(n, C, copy):
    K, y = _problem(n, seed=n)
    steps, beta, _ = _steps(K, y, C, copy, with_assistant=False)
    for ends in (False, True):
        helped = _steps(K, y, C, copy, with_assistant=True, ends=ends)
        assert helped[0] == steps > 5
        np.testing.assert_array_equal(helped[1], beta)


def test_nobody_waits_for_one_who_does_not_come_in_time():
    team = new_team()
    assert scan_team.lead(team, 0.5) == scan_team.ALONE
    assert scan_team.join(team) == (scan_team.ALONE, 0.5)


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
