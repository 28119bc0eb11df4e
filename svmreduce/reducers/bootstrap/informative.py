"""Which rows a bundle of classifiers finds hard: the entropy of its answers, and the two ways to keep by it.

Rows that all classifiers get right teach nothing, and rows that all get wrong are taken for outliers. What is left
are the candidates. MEFS keeps a share of them, those with the most entropy; MSFE keeps the fewest that hold a share
of their entropy.
"""

from __future__ import annotations

import math

import numpy as np

_ROUNDING = 1e-9  # of a size or a sum, so that a share of 0.07 of 100 rows is 7 and not 8


def entropy_of_votes(votes: np.ndarray) -> np.ndarray:
    """Entropy in bits of the classes that a row was given; ``votes`` has shape (classes, rows).

    With two classes it is that of k/N, for k wrong answers of N.
    """
    share = votes / votes.sum(axis=0)
    terms = share * np.log2(share, out=np.zeros_like(share), where=share > 0)
    # the same votes for other classes are a tie, whatever the order in which they were added up
    return np.round(np.abs(terms.sum(axis=0)), 12)


def candidates_of(errors: np.ndarray, n_classifiers: int) -> np.ndarray:
    """Rows that some classifiers get right and some wrong, as a mask."""
    return (errors > 0) & (errors < n_classifiers)


def mefs(entropy: np.ndarray, candidates: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """Maximise the Entropy at Fixed Size: this share of the candidate rows, rounded up, with the most entropy.

    Parameters
    ----------
    entropy : array of shape (n,)
    candidates : bool array of shape (n,)
    share : above 0 and at most 1
    random : breaks ties at the cut, which file order must not decide
    """
    order = _by_entropy(entropy, candidates, random)
    return np.sort(order[: math.ceil(share * len(order) * (1 - _ROUNDING))])


def msfe(entropy: np.ndarray, candidates: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """Minimise the Size at Fixed Entropy: the fewest candidate rows that hold this share of their entropy."""
    order = _by_entropy(entropy, candidates, random)
    held = np.cumsum(entropy[order])
    enough = np.searchsorted(held, share * held[-1] * (1 - _ROUNDING)) + 1 if len(order) else 0
    return np.sort(order[:enough])


SELECTIONS = {"mefs": mefs, "msfe": msfe}


def _by_entropy(entropy, candidates, random) -> np.ndarray:
    """Candidate rows, the most informative first, equal ones in random order."""
    rows = random.permutation(np.flatnonzero(candidates))
    return rows[np.argsort(-entropy[rows], kind="stable")]
