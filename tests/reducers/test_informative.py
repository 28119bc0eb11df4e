"""Entropy and the two selections on hand-made votes: right, minimal, and deaf to the order of rows."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmreduce.model.base import TextModel
from svmreduce.reducers.bootstrap.informative import (
    SELECTIONS,
    candidates_of,
    entropy_of_errors,
    equal_classes,
    inside_margin,
    mefs,
    msfe,
    wrong_sign,
)

N = 10


def _binary(errors):
    """Entropy and candidates of rows that so many of N classifiers get wrong."""
    errors = np.asarray(errors)
    return entropy_of_errors(errors, N), candidates_of(errors, N, "right_and_wrong")


def _random(seed=0):
    return np.random.default_rng(seed)


def test_entropy_of_two_classes_by_the_formula():
    entropy, candidates = _binary(range(N + 1))
    expected = [-sum(p * math.log2(p) for p in (k / N, 1 - k / N) if p) for k in range(N + 1)]
    np.testing.assert_allclose(entropy, expected, atol=1e-12)
    assert entropy[0] == entropy[N] == 0 and entropy[5] == 1
    assert np.array_equal(entropy, entropy[::-1])  # k and N - k are a tie, to the last digit
    assert candidates.tolist() == [False] + [True] * 9 + [False]


def test_only_rows_that_all_get_right_are_dropped_by_default():
    assert candidates_of(np.arange(N + 1), N).tolist() == [False] + [True] * N


class _Line(TextModel):
    """Decision values that are given, in LIBSVM's order of pairs."""

    pairwise = True

    def __init__(self, decisions, labels):
        self.decisions, self.labels = np.asarray(decisions), np.asarray(labels)

    def decision_function(self, X, threads=None):
        return self.decisions

    def _pieces(self):
        return iter(())

    def _numbers(self):
        return [self.decisions]


def test_inside_the_margin_is_wrong_by_margin_votes_only():
    model, codes = _Line([1.2, 0.4, -0.2, -1.0, -0.9985, 1.0], [1, 0]), np.array([1, 1, 1, 0, 0, 0])
    rows = np.zeros((6, 1))
    assert inside_margin(model, rows, codes, margin=1.0).tolist() == [False, True, True, False, True, True]
    assert inside_margin(model, rows, codes, margin=0.3).tolist() == [False, False, True, False, False, True]
    assert wrong_sign(model, rows, codes, margin=1.0).tolist() == [False, False, True, False, False, True]


def test_with_several_classes_every_pair_of_the_own_class_must_be_clear():
    #                  2:0   2:1   0:1
    model = _Line([[1.5, 1.2, 0.0], [1.5, 0.5, 0.0], [-1.5, 0.0, 1.1], [-1.5, 3.0, 0.9]], [2, 0, 1])
    rows = np.zeros((4, 1))
    assert inside_margin(model, rows, np.array([2, 2, 0, 0]), margin=1.0).tolist() == [False, True, False, True]
    unknown = np.array([3, 3, 0, 2])
    assert inside_margin(model, rows, unknown, margin=1.0).tolist() == [True, True, False, True]


def test_equal_classes_keep_the_size_and_take_the_most_informative_of_each():
    errors, codes = np.array([5, 5, 5, 5, 1, 2, 0, 4]), np.array([0, 0, 0, 0, 1, 1, 1, 2])
    entropy, candidates = _binary(errors)
    kept = msfe(entropy, candidates, 0.75, _random())
    assert kept.tolist() == [0, 1, 2, 3, 7]
    chosen = equal_classes(kept, codes, entropy, candidates, _random())
    assert len(chosen) == 5 and set(chosen) > {4, 5, 7}  # one of class 2, which has no more; two of each other class
    assert np.bincount(codes[chosen]).tolist() == [2, 2, 1]


def test_sets_of_a_hand_made_vector():
    #                 0  1  2  3  4  5   6  7
    errors = np.array([0, 1, 5, 3, 9, 10, 4, 0])
    entropy, candidates = _binary(errors)
    assert mefs(entropy, candidates, 0.2, _random()).tolist() == [2]
    assert mefs(entropy, candidates, 0.4, _random()).tolist() == [2, 6]
    assert mefs(entropy, candidates, 0.41, _random()).tolist() == [2, 3, 6]  # a share is rounded up
    # bits: row 2 1.0, row 6 0.971, row 3 0.881, rows 1 and 4 0.469 each: 3.790 in all
    assert msfe(entropy, candidates, 0.26, _random()).tolist() == [2]
    assert msfe(entropy, candidates, 0.27, _random()).tolist() == [2, 6]
    assert msfe(entropy, candidates, 0.752, _random()).tolist() == [2, 3, 6]
    for select in SELECTIONS.values():
        assert select(entropy, candidates, 1.0, _random()).tolist() == [1, 2, 3, 4, 6]


def test_nothing_is_kept_of_nothing():
    entropy, candidates = _binary([0, 10, 0])
    for select in SELECTIONS.values():
        assert select(entropy, candidates, 0.5, _random()).size == 0


def test_a_share_that_is_met_exactly_takes_no_row_more():
    entropy, candidates = _binary([3] * 100)
    for share in (0.07, 0.1, 0.29, 0.3, 0.57, 0.58, 0.7):  # 0.07 · 100 is a trifle above 7 in floating point
        for select in SELECTIONS.values():
            assert len(select(entropy, candidates, share, _random())) == round(100 * share)


def test_ties_are_broken_by_the_seed_and_not_by_position():
    entropy, candidates = _binary([5] * 1000)
    for select in SELECTIONS.values():
        kept = select(entropy, candidates, 0.3, _random(1))
        assert np.array_equal(kept, select(entropy, candidates, 0.3, _random(1)))
        assert not np.array_equal(kept, select(entropy, candidates, 0.3, _random(2)))
        assert abs(kept.mean() - 499.5) < 60  # all over the file: four standard deviations


_ERRORS = st.lists(st.integers(0, N), min_size=1, max_size=9)
_SHARES = st.integers(1, 100).map(lambda percent: Fraction(percent, 100))


@given(errors=_ERRORS, share=_SHARES, seed=st.integers(0, 9))
def test_mefs_holds_the_most_entropy_of_all_sets_of_its_size(errors, share, seed):
    entropy, candidates = _binary(errors)
    kept = mefs(entropy, candidates, float(share), _random(seed))
    rows = np.flatnonzero(candidates)
    assert len(kept) == math.ceil(share * len(rows))
    assert set(kept) <= set(rows) and (np.diff(kept) > 0).all()
    best = max((entropy[list(other)].sum() for other in combinations(rows, len(kept))), default=0)
    assert entropy[kept].sum() == pytest.approx(best)


@given(errors=_ERRORS, share=_SHARES, seed=st.integers(0, 9))
def test_msfe_holds_enough_and_no_smaller_set_does(errors, share, seed):
    entropy, candidates = _binary(errors)
    kept = msfe(entropy, candidates, float(share), _random(seed))
    rows = np.flatnonzero(candidates)
    wanted = float(share) * entropy[rows].sum() * (1 - 1e-9)
    assert set(kept) <= set(rows) and (np.diff(kept) > 0).all()
    assert entropy[kept].sum() >= wanted
    if len(kept):
        fewer = [entropy[list(other)].sum() for other in combinations(rows, len(kept) - 1)]
        assert max(fewer) < wanted


@given(
    errors=st.lists(st.integers(0, N), min_size=1, max_size=60),
    share=_SHARES,
    name=st.sampled_from(sorted(SELECTIONS)),
    data=st.data(),
)
def test_another_order_of_rows_changes_ties_only(errors, share, name, data):
    order = np.array(data.draw(st.permutations(range(len(errors)))))
    errors = np.array(errors)
    for given_errors in (errors, errors[order]):
        entropy, candidates = _binary(given_errors)
        kept = SELECTIONS[name](entropy, candidates, float(share), _random())
        levels = np.sort(entropy[kept])
        if given_errors is errors:
            first = levels
    assert np.array_equal(levels, first)
    assert (errors[order][kept] % N > 0).all()  # neither 0 nor N
