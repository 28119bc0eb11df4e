"""A block solved to a tolerance, in rounds of pair steps.

Blocks of float32 without a kink take the steps of ``compact_steps.py``: fewer, and in vector instructions. All others,
and rounds in which these get nowhere, take those of ``pair_steps.py``. The problem is stated there.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from svmreduce.core.cache_lines import in_lines
from svmreduce.core.compact_steps import LONGEST, assist, compact_steps
from svmreduce.core.jit import njit
from svmreduce.core.pair_scans import TOGETHER
from svmreduce.core.pair_steps import STRIP, block_round, still_movable
from svmreduce.core.row_sums import add_rows
from svmreduce.core.scan_team import LEAST_SHARED, new_team, padded
from svmreduce.core.threads import begin_turns, end_turns, in_turns, next_turn
from svmreduce.core.vector import TAGS
from svmreduce.core.watch import time_is_up

ROUNDED = 0.98  # of the tolerance: what steps in float32 leave, so that it holds in double


@njit()
def _high_and_low(beta, v, lower, upper):
    """The largest v that may go up and the smallest that may go down; NaN if any v is not finite."""
    high, low, odd = -np.inf, np.inf, 0.0
    for t in range(beta.size):
        odd += 0.0 * v[t]
        if beta[t] < upper[t]:
            high = max(high, v[t])
        if beta[t] > lower[t]:
            low = min(low, v[t])
    return high + odd, low + odd


@njit()
def _gather(rows, middle, v, beta, lower, upper, part_v, parts):
    """What ``compact_steps`` wants of these rows: v about its middle, β and its bounds."""
    for t in range(rows.size):
        r = rows[t]
        part_v[t] = v[r] - middle
        parts[0, t], parts[1, t], parts[2, t] = beta[r], lower[r], upper[r]


@njit()
def _scatter(rows, part_beta, beta, moved, change):
    """Bring β up to date: which rows have changed, and the change of f = −v for each; returns how many."""
    count = 0
    for t in range(rows.size):
        r = rows[t]
        if part_beta[t] != beta[r]:
            moved[count], change[count] = r, beta[r] - part_beta[t]
            beta[r] = part_beta[t]
            count += 1
    return count


@njit()
def _lead_or_assist(team, K, rows, block, filled, beta, v, lower, upper, tol, max_steps, states, made, turns):
    """``compact_steps`` on one thread; another one, if it comes, assists."""
    places, lazy, own = np.empty(LONGEST + 2, np.int64), np.empty((3, rows.size)), np.empty(rows.size)
    team = team[: 0 if turns[2] == 0 else team.size]  # the caller without helpers need not wait for any
    begin_turns(turns)
    while True:
        turn = next_turn(turns)
        if turn == 0:
            made[0] = compact_steps(team, K, rows, block, filled, beta, v, lower, upper, tol, max_steps, states, places,
                                    lazy)  # fmt: skip
            team = team[:0]  # nobody joins any more
        elif turn == 1 and team.size > 0:
            assist(team, K, rows, block, filled, beta, lower, upper, tol, max_steps, states, places, lazy, own)
        else:
            end_turns(turns)
            return


@njit()
def _add_in_turns(K, rows, weights, count, f, turns):
    """``add_rows`` to all of f, some columns a turn."""
    begin_turns(turns)
    while True:
        begin = next_turn(turns) * STRIP
        if begin >= f.size:
            end_turns(turns)
            return
        add_rows(K, np.array([[begin, min(f.size, begin + STRIP)]]), rows, weights, count, f)


def _conjugate_round(K, stride, diagonal, beta, v, lower, upper, tol, max_steps, threads):
    """Steps along conjugate directions with v in float32, then v of all rows in double.

    Takes and returns what ``block_round`` does, which takes over where no step was made, or where rounding made the
    objective worse.
    """
    n = beta.size
    high, low = _high_and_low(beta, v, lower, upper)
    if not high - low > tol or max_steps <= 0:  # also where kernel values are not numbers
        return 0, high, low, True
    # Arrays are made here: a signal that comes while compiled code hands one over is a SystemError.
    rows = np.empty(n, np.uint64)
    rows = rows[: still_movable(beta, v, lower, upper, 0.0, high, low, rows)]
    block = square = K[: n * stride].reshape(n, stride)
    few = 2 * rows.size <= n
    m = rows.size if few else n
    threads_of_steps = min(threads, 2) if m >= LEAST_SHARED else 1
    filled = np.zeros((threads_of_steps, m), np.int64)
    if few:  # on a copy, which is filled when it is needed
        block = in_lines((m, padded(m) + TOGETHER), np.float32)
    else:
        rows = np.arange(n, dtype=np.uint64)
        filled += n
    part_v, parts = np.empty(m, np.float32), np.empty((3, m))
    states = in_lines((threads_of_steps, 4 * padded(m)), np.float32)
    _gather(rows, 0.5 * (high + low), v, beta, lower, upper, part_v, parts)
    answer, patience = np.zeros(1, np.int64), (50 if few else 2) * max(n, 500)
    team = new_team() if threads_of_steps > 1 else np.empty(0, np.int64)
    loop = partial(_lead_or_assist, team, square, rows, block, filled, parts[0], part_v, parts[1], parts[2],
                   ROUNDED * tol, min(max_steps, patience), states, answer)  # fmt: skip
    in_turns(loop, m * m, threads_of_steps)
    made = int(answer[0])
    if made == 0:
        return block_round(K, stride, diagonal, beta, v, lower, upper, 0.0, tol, max_steps)
    v_before, beta_before = v.copy(), beta.copy()
    moved, change = np.empty(m, np.int64), np.empty(m)
    count = _scatter(rows, parts[0], beta, moved, change)
    in_turns(partial(_add_in_turns, square, moved, change, count, v), n * count, threads)
    moved, change = moved[:count], change[:count]
    if change @ (v_before[moved] + v[moved]) > 0.0:
        beta[:], v[:] = beta_before, v_before
        return block_round(K, stride, diagonal, beta, v, lower, upper, 0.0, tol, max_steps)
    high, low = _high_and_low(beta, v, lower, upper)
    return made, high, low, not high - low > tol or made >= max_steps


def optimise_block_in_time(K, stride, diagonal, beta, v, lower, upper, tol, max_steps, kink=0.0, threads=1):
    """What ``optimise_block`` does, with a look at the clock between rounds; also with a kink at β = 0.

    Blocks of float32 without a kink are solved along conjugate directions, if there is something to read behind the
    last row. What is behind rows, up to a multiple of ``TOGETHER``, must be finite.
    """
    n, steps, done = beta.size, 0, False
    last = (n - 1) * stride + padded(n)
    conjugate = K.dtype == np.float32 and kink == 0.0 and n <= TAGS and max(n * stride, last) <= K.size
    while not done:
        problem = K, stride, diagonal, beta, v, lower, upper
        if conjugate:
            made, high, low, done = _conjugate_round(*problem, tol, max_steps - steps, threads)
        else:
            made, high, low, done = block_round(*problem, kink, tol, max_steps - steps)
        steps += made
        done = done or time_is_up()
    return steps, high, low
