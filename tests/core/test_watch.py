"""Time limits and progress: who watches a loop, and when it is told to stop."""

import numpy as np
import pytest

from svmreduce import CVM, LASVM, SMO, Pegasos
from svmreduce.core.watch import share_of_time, time_is_up, watched
from svmreduce.data.synthetic import make

BOARD = make("checkerboard", 3000, seed=0)


def test_nobody_watches():
    assert time_is_up(gap=1.0) is False


def test_everyone_hears_of_a_round_and_anyone_can_stop_it():
    outer, inner = [], []
    with watched(callback=outer.append) as first, watched(0.0, inner.append) as second:
        assert time_is_up(rounds=1, gap=0.5)
    assert outer[0]["gap"] == inner[0]["gap"] == 0.5 and outer[0]["seconds"] >= 0
    assert second.stopped and not first.stopped
    with watched(callback=lambda facts: facts["rounds"] == 2) as watch:
        assert [time_is_up(rounds=number) for number in (1, 2)] == [False, True]
    assert watch.stopped and not time_is_up()


def test_problems_in_a_row_share_what_is_left():
    with watched(100.0), share_of_time(4) as part:
        assert part.deadline - part.begun == pytest.approx(25, abs=1)
    with share_of_time(4) as part:
        assert part.deadline == np.inf


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", [SMO(C=100, gamma=8), CVM(C=100, gamma=8), LASVM(C=100, gamma=8), Pegasos(tol=1e-6)])
def test_a_fit_out_of_time_is_a_model(solver):
    with watched(0.0) as watch:
        fitted = solver.fit(BOARD.X, BOARD.y)
    assert watch.stopped and not (fitted.converged_ and fitted.gap_ <= solver.tol)
    assert np.isfinite(fitted.decision_function(BOARD.X)).all()


def test_watching_changes_no_number():
    facts = []
    plain = SMO(C=10, gamma=2).fit(BOARD.X, BOARD.y)
    seen = SMO(C=10, gamma=2, max_seconds=1e6, callback=facts.append).fit(BOARD.X, BOARD.y)
    assert np.array_equal(plain.dual_coef_, seen.dual_coef_) and plain.n_iter_ == seen.n_iter_
    assert (
        facts and facts[-1]["steps"] == seen.n_iter_ and set(facts[0]) == {"seconds", "rounds", "steps", "rows", "gap"}
    )


def test_a_callback_ends_the_fit_and_the_warning_says_what_helps():
    with pytest.warns(UserWarning, match="stopped before it reached tol; raise max_seconds"):
        SMO(C=100, gamma=8, callback=lambda facts: True).fit(BOARD.X, BOARD.y)
