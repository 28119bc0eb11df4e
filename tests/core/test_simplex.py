"""Single steps of the Frank-Wolfe family: what they keep, what they lower, how far they go."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from svmreduce.core.pair_steps import BARRED
from svmreduce.core.simplex import (
    AWAY,
    BALL,
    DROP,
    FRANK_WOLFE,
    INSIDE,
    LIMIT,
    MODIFIED,
    NORM,
    SCALE,
    SLACK,
    TOWARD,
    ball_steps,
)  # fmt: skip


class Steps:
    """The state of a search on a whole matrix, stepped by hand."""

    def __init__(self, rule, Q, alpha, size):
        n = len(Q)
        self.rule, self.Q, self.size = rule, Q, size
        self.begin, self.last_used = n * np.arange(n), np.zeros(n, np.int64)
        self.weight, self.g = alpha.copy(), Q @ alpha
        self.barred = np.where(alpha > 0, 0, BARRED).astype(np.float32)
        self.numbers = np.array([alpha @ Q @ alpha, size if rule == BALL else 0.0, 1.0])
        self.counters = np.zeros(3, np.int64)

    def go(self, most=1, limit=1.0):
        own = np.diag(self.Q).copy()
        return ball_steps(self.rule, self.size, limit, self.Q.ravel(), self.begin, self.last_used, own, self.weight,
                          self.g, self.barred, self.numbers, self.counters, most)  # fmt: skip

    @property
    def alpha(self):
        return self.weight * self.numbers[SCALE]


def random_problem(seed, normalised):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(25, 6))
    if normalised:
        Z /= np.linalg.norm(Z, axis=1)[:, None]
    Q = Z @ Z.T + 0.3 * np.eye(25)
    alpha = rng.random(25) * (rng.random(25) < 0.5)
    alpha[0] += 0.1
    return Q, alpha / alpha.sum()


@pytest.mark.parametrize("rule", [FRANK_WOLFE, MODIFIED])
@pytest.mark.parametrize("seed", range(15))
def test_every_step_stays_on_the_simplex_and_lowers_the_norm(rule, seed):
    Q, alpha = random_problem(seed, normalised=seed % 2)
    steps = Steps(rule, Q, alpha, size=np.diag(Q).max() + 1)
    made = 0
    while made < 200:
        before = steps.alpha
        if steps.go() != LIMIT:
            break
        made += 1
        after = steps.alpha
        assert after.min() >= 0 and after.sum() == pytest.approx(1, abs=1e-12)
        assert after @ Q @ after < before @ Q @ before
        # R and g by their update formulas are R and g
        assert steps.numbers[NORM] == pytest.approx(after @ Q @ after, rel=1e-11)
        assert_allclose(steps.g, Q @ after, rtol=1e-10)
        assert np.array_equal(steps.barred == 0, after > 0)
        # a line search: R is stationary along the way, unless a weight was used up
        way = after - before
        if steps.counters[DROP] == 0:
            assert abs(steps.g @ way) <= 1e-10 * np.abs(way).sum()
    assert steps.counters[TOWARD] + steps.counters[AWAY] == made > 10
    assert (steps.counters[AWAY] > 0) == (rule == MODIFIED)


def test_the_steeper_direction_is_taken():
    Q, alpha = random_problem(4, normalised=True)
    for rule in (FRANK_WOLFE, MODIFIED):
        steps = Steps(rule, Q, alpha, size=3.0)
        g, R = Q @ alpha, alpha @ Q @ alpha
        far, near = np.argmin(g), np.flatnonzero(alpha)[np.argmax(g[alpha > 0])]
        goes_away = rule == MODIFIED and g[near] - R > R - g[far]
        steps.go()
        assert steps.counters[AWAY] == goes_away
        moved = near if goes_away else far
        others = np.delete(np.arange(25), moved)
        shrunk = steps.alpha[others][alpha[others] > 0] / alpha[others][alpha[others] > 0]
        assert_allclose(shrunk, shrunk[0], rtol=1e-12)


def test_a_drop_leaves_nothing():
    """A row on the far side of the others with hardly any weight: the step away from it takes all of it."""
    Q = np.array([[1.0, 0.9, 1.2], [0.9, 1.0, 1.2], [1.2, 1.2, 4.0]])
    steps = Steps(MODIFIED, Q, np.array([0.5, 0.49, 0.01]), size=5.0)
    assert steps.go() == LIMIT
    assert steps.counters.tolist() == [0, 1, 1]
    assert steps.alpha[2] == 0 and steps.barred[2] == BARRED
    assert_allclose(steps.alpha[:2], [0.5 / 0.99, 0.49 / 0.99])


def test_a_missing_row_is_asked_for():
    Q, alpha = random_problem(0, normalised=True)
    steps = Steps(FRANK_WOLFE, Q, alpha, size=3.0)
    wanted = int(np.argmin(Q @ alpha))
    steps.begin[wanted] = -1
    assert steps.go() == wanted
    assert steps.counters.tolist() == [0, 0, 0] and np.array_equal(steps.alpha, alpha)


@pytest.mark.parametrize("seed", range(5))
def test_a_ball_of_fixed_radius_touches_the_row_it_went_toward(seed):
    Q, alpha = random_problem(seed, normalised=True)
    size = Q[0, 0]
    steps = Steps(BALL, Q, alpha, size)
    for _ in range(30):
        far = np.argmin(steps.g)
        if steps.go() == INSIDE:
            break
        R, slack = steps.numbers[NORM], steps.numbers[SLACK]
        assert size + R - 2 * steps.g[far] + slack == pytest.approx(size, rel=1e-9)
        assert steps.alpha.sum() == pytest.approx(1, abs=1e-12)


def test_the_end_is_a_ball_that_holds_all_rows():
    Q, alpha = random_problem(1, normalised=True)
    size, epsilon = Q[0, 0], 1e-4
    for rule in (FRANK_WOLFE, MODIFIED, BALL):
        steps = Steps(rule, Q, alpha, size)
        assert steps.go(most=10**6, limit=(1 + epsilon) ** 2) == INSIDE
        R, slack = steps.numbers[:2]
        radius = size if rule == BALL else size - R
        distances = size + R - 2 * Q @ steps.alpha + slack
        assert distances.max() <= (1 + epsilon) ** 2 * radius * (1 + 1e-9)


def test_rounding_does_not_keep_it_going():
    """A tolerance of zero cannot be met; the steps end all the same."""
    Q, alpha = random_problem(2, normalised=True)
    steps = Steps(MODIFIED, Q, alpha, size=3.0)
    assert steps.go(most=10**7, limit=1.0) < 0
    assert steps.counters.sum() < 10**6
