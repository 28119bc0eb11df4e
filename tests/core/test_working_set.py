"""The block of kernel values: whatever rows come and go, it is that of its members."""

from functools import partial

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from svmreduce.core import threads, working_set
from svmreduce.core.kernel_values import kernel_rows
from svmreduce.core.working_set import WorkingSet
from svmreduce.kernels import KernelSpec

ROWS = 400
KERNEL = KernelSpec("rbf", 0.3)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 120), st.floats(0.0, 1.0)), min_size=1, max_size=6),
    st.integers(0, 99),
    st.booleans(),
)
def test_the_block_is_that_of_its_members(moves, seed, single):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 3))
    rows = kernel_rows(KERNEL, X, np.float32 if single else np.float64)
    exact = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(-1))
    work = WorkingSet(rows, 1.0)
    for count, share in moves:
        others = np.setdiff1d(np.arange(ROWS), work.members)
        new = rng.permutation(others)[: min(count, work.capacity - work.size)]
        work.admit(new, threads=2)
        before, kept = work.members.copy(), rng.random(work.size) < share
        order = work.keep(kept)
        assert np.array_equal(work.members, before[order])
        assert np.array_equal(np.sort(work.members), np.sort(before[kept]))
        block = work.K[: work.size * work.stride].reshape(work.size, work.stride)[:, : work.size]
        assert np.allclose(block, exact[np.ix_(work.members, work.members)], atol=1e-6)
        assert np.array_equal(block, block.T) and np.array_equal(np.diag(block), work.diagonal)
        assert np.isfinite(work.K).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 90), st.integers(0, 20), st.integers(1, 60), st.integers(1, 3))
def test_rows_that_move_apart_keep_their_values(n, slack, more, count):
    old, new = n + slack, n + slack + more
    K = np.full(n * new, -1.0, np.float32)
    values = np.random.default_rng(n).random((n, n), np.float32)
    K[: n * old].reshape(n, old)[:, :n] = values
    tasks = -(-n // working_set.ROWS_TO_WIDEN)
    threads.in_turns(partial(working_set._widen, K, n, old, new), threads.FEW_VALUES, count, tasks)
    assert np.array_equal(K.reshape(n, new)[:, :n], values)
