"""Single passes over rows, against their definitions in numpy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from svmreduce.core.row_passes import changes, gather, mark_first, round_to_bounds, subtract, violations, worst_pair

seeds = st.integers(0, 2**32 - 1)


@settings(deadline=None)  # the first call compiles
@given(st.integers(1, 1200), seeds, st.sampled_from([0.0, 0.1]), st.booleans())
def test_the_worst_pair_is_that_of_the_definition(n, seed, kink, odd):
    rng = np.random.default_rng(seed)
    v = np.round(rng.normal(size=n), 1)  # with ties
    lower = np.where(rng.random(n) < 0.5, -1.0, 0.0)
    upper = lower + (rng.random(n) < 0.95)
    beta = lower + (upper - lower) * rng.choice([0.0, 0.5, 1.0], n)
    if odd:
        v[rng.integers(n)] = np.nan
    up = np.where(beta < upper, v - np.where(beta >= 0, kink, -kink), -np.inf)
    down = np.where(beta > lower, v - np.where(beta > 0, kink, -kink), np.inf)
    high, low, at_high, at_low = worst_pair(v, beta, lower, upper, kink)
    if odd:
        assert np.isnan(high) and np.isnan(v[at_high])
        return
    assert (high, low) == (up.max(), down.min())
    assert not np.isfinite(high) or up[at_high] == high
    assert not np.isfinite(low) or down[at_low] == low
    movable = upper > lower
    wrong = violations(v, beta, lower, upper, kink, 0.3)
    np.testing.assert_array_equal(wrong[movable], np.maximum(up - 0.3, 0.3 - down)[movable])
    assert (wrong[~movable] < -1e200).all()


def test_amounts_are_subtracted_from_the_rows_named():
    v = np.arange(5.0)
    subtract(v, np.array([3, 0]), np.array([1.0, 2.0]))
    assert v.tolist() == [-2.0, 1.0, 2.0, 2.0, 4.0]


@settings(deadline=None)  # the first call compiles
@given(st.integers(1, 300), seeds)
def test_rows_are_gathered_changes_found_and_the_first_of_a_kind_marked(n, seed):
    rng = np.random.default_rng(seed)
    v, before, lower, upper = rng.integers(-1, 2, (4, n)).astype(float)
    rows = rng.permutation(n)[: rng.integers(n + 1)]
    for got, whole in zip(gather(v, before, lower, upper, rows), (v, before, lower, upper), strict=True):
        np.testing.assert_array_equal(got, whole[rows])

    places, amounts = np.empty(n, np.int64), np.empty(n)
    count = changes(v, before, places, amounts)
    np.testing.assert_array_equal(places[:count], np.flatnonzero(v != before))
    np.testing.assert_array_equal(amounts[:count], (v - before)[places[:count]])

    order, marks, most = rng.permutation(n), np.zeros(n, bool), int(rng.integers(n + 1))
    mark_first(order, upper, most, marks)
    assert set(np.flatnonzero(marks)) == set(order[upper[order] != 0][:most])


def test_coefficients_that_are_as_good_as_at_a_bound_are_put_there():
    inf, near = np.inf, 1e-9
    beta = np.array([near, 1 - near, 0.5, -near, near, 2.0])
    lower = np.array([0.0, 0.0, 0.0, -1.0, -inf, -inf])
    upper = np.array([1.0, 1.0, 1.0, 1.0, inf, inf])
    round_to_bounds(beta, lower, upper, 0.1, 1e-8, 2.0)
    assert beta.tolist() == [0.0, 1.0, 0.5, 0.0, 0.0, 2.0]
    round_to_bounds(other := np.array([-near]), np.array([-1.0]), np.array([1.0]), 0.0, 1e-8, 1.0)
    assert other.tolist() == [-near]  # no kink: zero is no bound
