"""The worst pair, against its definition in numpy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from svmreduce.core.violations import subtract, violations, worst_pair


@given(st.integers(1, 1200), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1]), st.booleans())
def test_the_worst_pair_is_that_of_the_definition(n, seed, kink, odd):
    rng = np.random.default_rng(seed)
    v = np.round(rng.normal(size=n), 1)  # with ties
    lower = np.where(rng.random(n) < 0.5, -1.0, 0.0)
    upper = lower + (rng.random(n) < 0.95)
    beta = lower + (upper - lower) * rng.choice([0.0, 0.5, 1.0], n)
    among = rng.random(n) < rng.random()
    if odd:
        v[rng.integers(n)] = np.nan
    up = np.where(beta < upper, v - np.where(beta >= 0, kink, -kink), -np.inf)
    down = np.where(beta > lower, v - np.where(beta > 0, kink, -kink), np.inf)
    high, low, at_high, at_low = worst_pair(v, beta, lower, upper, kink, among)
    if np.isnan(v[among]).any():
        assert np.isnan(high) and np.isnan(v[at_high])
        return
    assert (high, low) == (up[among].max(initial=-np.inf), down[among].min(initial=np.inf))
    assert not np.isfinite(high) or (among[at_high] and up[at_high] == high)
    assert not np.isfinite(low) or (among[at_low] and down[at_low] == low)
    if not odd:
        movable = upper > lower
        wrong = violations(v, beta, lower, upper, kink, 0.3)
        np.testing.assert_array_equal(wrong[movable], np.maximum(up - 0.3, 0.3 - down)[movable])
        assert (wrong[~movable] < -1e200).all()


def test_amounts_are_subtracted_from_the_rows_named():
    v = np.arange(5.0)
    subtract(v, np.array([3, 0]), np.array([1.0, 2.0]))
    assert v.tolist() == [-2.0, 1.0, 2.0, 2.0, 4.0]
