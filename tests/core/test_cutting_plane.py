"""Sweeps over kernel values in panels: the sums that their definition gives, whatever the shapes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from svmreduce.core.cutting_plane import add_rows, cut_part, masked_sums, shape_of_panels, to_whole_panels

SHAPES = {"rows": st.integers(1, 150), "columns": st.integers(1, 600), "seed": st.integers(0, 99)}


def in_panels(values, room):
    """The same values, with room for more columns."""
    panels, rows, width = shape_of_panels(len(values), room)
    K = np.zeros((panels, rows, width), np.float32)
    for j, column in enumerate(values.T):
        K[j // width, :, j % width] = column
    return K


@given(**SHAPES, more=st.integers(0, 300), begin=st.integers(0, 149))
@settings(max_examples=40, deadline=None)
def test_a_sweep_finds_the_rows_inside_the_margin_and_their_sums(rows, columns, seed, more, begin):
    rng = np.random.default_rng(seed)
    values, beta = rng.random((rows, columns), np.float32), rng.normal(size=columns)
    K, begin = in_panels(values, columns + more), min(begin, rows - 1)
    pull, offset = rng.normal(size=rows - begin), 0.3
    cut, total = np.empty(pull.size, np.int8), to_whole_panels(np.zeros(columns), K.shape[2])
    weight, pulled, loss = cut_part(K, begin, to_whole_panels(beta, K.shape[2]), offset, pull, cut, total)

    slack = np.abs(pull) - pull * (values[begin:] @ beta + offset)
    inside = slack > 0
    assert np.array_equal(cut.astype(bool), inside)
    assert_allclose(total[:columns], (pull * inside) @ values[begin:], atol=1e-9)
    assert not total[columns:].any()
    assert [weight, pulled, loss] == pytest.approx(
        [np.abs(pull)[inside].sum(), pull[inside].sum(), slack[inside].sum()]
    )
    again = np.zeros_like(total)
    add_rows(K, begin + np.flatnonzero(inside), pull[inside], again)
    assert_allclose(again, total, atol=1e-9)


@given(rows=st.integers(1, 5000), planes=st.integers(1, 9), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_sums_of_some_cuts(rows, planes, seed):
    rng = np.random.default_rng(seed)
    cuts, values = rng.integers(0, 2, (planes, rows)).astype(np.int8), rng.normal(size=rows)
    which = rng.integers(0, planes, 5)
    assert_allclose(masked_sums(cuts, which, values), cuts[which] @ values, atol=1e-9)


@given(rows=st.integers(1, 10**6), columns=st.integers(1, 10**5))
def test_panels_hold_all_columns_and_little_more(rows, columns):
    panels, held, width = shape_of_panels(rows, columns)
    assert held == rows and width % 32 == 0 and width <= 256
    assert columns <= panels * width < columns + 32 * panels
