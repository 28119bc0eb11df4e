"""Is the difference real? Rank tests over data sets.

Data sets differ too much for means: a second saved on one is nothing on another. The rank tests that J. Demšar
recommends ("Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006) ask only which method did
better on each data set, and the signed ranks also by how much compared with the other data sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from svmreduce.errors import InputError


@dataclass(frozen=True)
class SignedRanks:
    """A Wilcoxon signed-rank test of two methods."""

    statistic: float  # W, the smaller of the two rank sums
    plus: float  # rank sum of the pairs where the first value is larger
    minus: float
    p_value: float


@dataclass(frozen=True)
class Friedman:
    """A Friedman test of several methods, corrected by Iman and Davenport."""

    ranks: np.ndarray  # of the methods, averaged over the data sets; 1 is best
    chi_square: float
    statistic: float  # F
    p_value: float


def wilcoxon(first, second, alternative: str = "two-sided") -> SignedRanks:
    """Wilcoxon's signed-rank test, with Pratt's handling of zeros and the exact p-value.

    Pairs are ranked by the size of their difference, and the ranks are summed for each sign. If the methods were
    alike, every difference could as well have the other sign: the p-value is the share of all 2ⁿ choices of signs
    with a rank sum as extreme. Pairs without a difference take the lowest ranks and then drop out (Pratt). Tied
    sizes share their mean rank, and the distribution is counted for these very ranks; scipy's ``method="exact"``
    uses the one for no ties and no zeros.

    Parameters
    ----------
    first, second : array-like of the same length
        One value per data set.
    alternative : {"two-sided", "less", "greater"}
        What speaks against chance: ``"less"`` is a first method with smaller values.
    """
    first, second = _paired(first, second)
    ranks, signs = _signed_ranks(first, second)
    plus, minus = float(ranks[signs > 0].sum()), float(ranks[signs < 0].sum())
    tails = {"less": (1, plus), "greater": (1, minus), "two-sided": (2, min(plus, minus))}
    if alternative not in tails:
        raise InputError(f"alternative must be 'two-sided', 'less' or 'greater', got {alternative!r}")
    sides, rank_sum = tails[alternative]
    p_value = min(1.0, sides * _exact_tail(ranks[signs != 0], rank_sum))
    return SignedRanks(min(plus, minus), plus, minus, p_value)


def friedman(scores, higher_is_better: bool = True) -> Friedman:
    """Do the methods differ at all? Friedman's test with the F statistic of Iman and Davenport.

    With average ranks R over N data sets, χ² = 12N/(k(k+1)) · (ΣR² − k(k+1)²/4) and F = (N−1)χ² / (N(k−1) − χ²) with
    k−1 and (k−1)(N−1) degrees of freedom. As in the papers, χ² is not corrected for ties, which makes the test
    careful where there are many.

    Parameters
    ----------
    scores : array-like of shape (data sets, methods)
    higher_is_better : bool
        Which way the ranks count; F does not depend on it.
    """
    scores = _complete_table(scores)
    ranks = stats.rankdata(-scores if higher_is_better else scores, axis=1).mean(axis=0)
    n, k = scores.shape
    chi_square = max(0.0, 12 * n / (k * (k + 1)) * (float(ranks @ ranks) - k * (k + 1) ** 2 / 4))
    left = n * (k - 1) - chi_square
    if left > 1e-9 * n * k:
        statistic = (n - 1) * chi_square / left
        p_value = float(stats.f.sf(statistic, k - 1, (k - 1) * (n - 1)))
    else:  # the same order on every data set: F is not finite, but its probability is known
        statistic, p_value = math.inf, math.exp((1 - n) * math.lgamma(k + 1))
    return Friedman(ranks, chi_square, statistic, p_value)


def _signed_ranks(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean ranks of the differences by size, and their signs, in ascending order of size.

    Sizes that differ by no more than what the subtraction of rounded numbers leaves are ties: 84.07 − 84.06 and
    83.56 − 83.55 are the same to the reader of a table, though not to the machine.
    """
    difference = first - second
    slack = 4 * np.finfo(float).eps * np.maximum(np.abs(first), np.abs(second))
    difference[np.abs(difference) <= slack] = 0
    order = np.argsort(np.abs(difference), kind="stable")
    size, slack = np.abs(difference)[order], slack[order]
    is_new = np.diff(size) > np.where(size[:-1] > 0, slack[:-1] + slack[1:], 0)
    group = np.concatenate([[0], np.cumsum(is_new)])
    mean_rank = np.bincount(group, weights=np.arange(1, size.size + 1)) / np.bincount(group)
    return mean_rank[group], np.sign(difference[order])


def _exact_tail(ranks: np.ndarray, rank_sum: float) -> float:
    """P(S ≤ rank_sum), where S takes each rank with probability ½.

    Counted rank by rank over the values of S up to there; mean ranks are whole or half numbers, hence the doubling.
    """
    probability = np.zeros(round(2 * rank_sum) + 1)
    probability[0] = 1.0
    for rank in np.rint(2 * ranks).astype(int):
        probability /= 2
        probability[rank:] += probability[: max(0, probability.size - rank)].copy()
    return float(probability.sum())


def _paired(first, second) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.ndim != 1 or first.shape != second.shape or not first.size:
        raise InputError(f"pairs need two lists of the same length, got shapes {first.shape} and {second.shape}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("pairs must be complete and finite: leave out those where a method failed, and say so")
    return first, second


def _complete_table(scores) -> np.ndarray:
    scores = np.asarray(scores, dtype=float)
    if scores.ndim != 2 or scores.shape[0] < 2 or scores.shape[1] < 2:
        raise InputError(f"rank tests need at least 2 data sets (rows) and 2 methods, got shape {scores.shape}")
    lacking = int((~np.isfinite(scores).all(axis=1)).sum())
    if lacking:
        raise InputError(
            f"{lacking} of {len(scores)} data sets lack a score: rank tests need every method on every data set"
        )
    return scores
