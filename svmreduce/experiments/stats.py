"""Is the difference real? Rank tests over data sets, and an interval for a speed-up.

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

EXACT_UP_TO = 500
"""Differences up to which the signed-rank distribution is counted exactly; beyond, the normal curve is as good."""


@dataclass(frozen=True)
class SignedRanks:
    """A Wilcoxon signed-rank test of two methods."""

    statistic: float  # W, the smaller of the two rank sums
    plus: float  # rank sum of the pairs where the first value is larger
    minus: float
    p_value: float
    alternative: str
    pairs: int
    zeros: int
    is_exact: bool


@dataclass(frozen=True)
class Friedman:
    """A Friedman test of several methods, corrected by Iman and Davenport."""

    ranks: np.ndarray  # of the methods, averaged over the data sets; 1 is best
    chi_square: float
    statistic: float  # F
    p_value: float
    datasets: int


@dataclass(frozen=True)
class RatioInterval:
    """A ratio and the bootstrap interval around it."""

    ratio: float
    low: float
    high: float
    level: float
    pairs: int


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
    ranks = ranks[signs != 0]
    is_exact = ranks.size <= EXACT_UP_TO
    tail = _exact_tail if is_exact else _normal_tail
    return SignedRanks(
        statistic=min(plus, minus),
        plus=plus,
        minus=minus,
        p_value=min(1.0, sides * tail(ranks, rank_sum)),
        alternative=alternative,
        pairs=first.size,
        zeros=first.size - ranks.size,
        is_exact=is_exact,
    )


def average_ranks(scores, higher_is_better: bool) -> np.ndarray:
    """Mean rank of each method (column) over the data sets (rows): 1 is best, ties share their mean rank."""
    scores = _complete_table(scores)
    return stats.rankdata(-scores if higher_is_better else scores, axis=1).mean(axis=0)


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
    ranks = average_ranks(scores, higher_is_better)
    n, k = len(scores), ranks.size
    chi_square = max(0.0, 12 * n / (k * (k + 1)) * (float(ranks @ ranks) - k * (k + 1) ** 2 / 4))
    left = n * (k - 1) - chi_square
    if left > 1e-9 * n * k:
        statistic = (n - 1) * chi_square / left
        p_value = float(stats.f.sf(statistic, k - 1, (k - 1) * (n - 1)))
    else:  # the same order on every data set: F is not finite, but its probability is known
        statistic, p_value = math.inf, math.exp((1 - n) * math.lgamma(k + 1))
    return Friedman(ranks, chi_square, statistic, p_value, n)


def nemenyi_critical_difference(methods: int, datasets: int, alpha: float = 0.05) -> float:
    """Two of ``methods`` differ at level ``alpha`` if their average ranks are further apart than this."""
    if methods < 2 or datasets < 1:
        raise InputError(f"a critical difference needs 2 methods and 1 data set, got {methods} and {datasets}")
    if not 0 < alpha < 1:
        raise InputError(f"alpha must be between 0 and 1, got {alpha!r}")
    spread = stats.studentized_range.ppf(1 - alpha, methods, math.inf) / math.sqrt(2)
    return float(spread * math.sqrt(methods * (methods + 1) / (6 * datasets)))


def ratio_interval(
    numerator, denominator, of: str = "sums", level: float = 0.95, resamples: int = 9999, seed: int = 0
) -> RatioInterval:
    """A ratio with its bootstrap interval: pairs are drawn with replacement and the ratio is computed again.

    The interval is the bias-corrected and accelerated one (BCa), which suits the skew of ratios. Where resampling
    changes nothing (one pair, or all ratios alike) it is the ratio itself.

    Parameters
    ----------
    numerator, denominator : array-like of the same length, positive
        Such as the baseline's and a method's time in each cell; pairs stay together.
    of : {"sums", "geometric means"}
        The first weighs by seconds, as OTS does; the second treats every pair alike.
    """
    numerator, denominator = _paired(numerator, denominator)
    if not (numerator.min() > 0 and denominator.min() > 0):
        raise InputError("a ratio needs positive values on both sides")
    if of not in ("sums", "geometric means"):
        raise InputError(f"a ratio is of 'sums' or 'geometric means', got {of!r}")
    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1, got {level!r}")
    ratio_of = _ratio_of_sums if of == "sums" else _ratio_of_geometric_means
    ratio = float(ratio_of(numerator, denominator))
    ratios = numerator / denominator
    low = high = ratio
    if np.ptp(ratios) > 1e-12 * ratios.max():
        low, high = stats.bootstrap(
            (numerator, denominator),
            ratio_of,
            paired=True,
            vectorized=True,
            method="BCa",
            confidence_level=level,
            n_resamples=resamples,
            batch=max(1, 1_000_000 // ratios.size),  # 8 MB at a time
            rng=np.random.default_rng(seed),
        ).confidence_interval
    return RatioInterval(ratio, float(low), float(high), level, ratios.size)


def _ratio_of_sums(numerator, denominator, axis=-1):
    return numerator.sum(axis=axis) / denominator.sum(axis=axis)


def _ratio_of_geometric_means(numerator, denominator, axis=-1):
    return np.exp((np.log(numerator) - np.log(denominator)).mean(axis=axis))


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


def _normal_tail(ranks: np.ndarray, rank_sum: float) -> float:
    return float(stats.norm.cdf(rank_sum, ranks.sum() / 2, math.sqrt(float(ranks @ ranks)) / 2))


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
