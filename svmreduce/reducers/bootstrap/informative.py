"""Which rows a bundle of classifiers finds hard: how they are judged, their entropy, and the two ways to keep by it.

A row that every classifier gets right teaches nothing. By the *margin*, a classifier is right about a row only outside
its margin, y·f ≥ 1: then "right by all" means "a support vector of none", which is how the paper uses it. By the
*sign*, the predicted class alone counts. With k wrong answers of N the entropy of a row is that of k/N. MEFS keeps a
share of the candidate rows, those with the most entropy; MSFE keeps the fewest that hold a share of the entropy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np

_ROUNDING = 1e-9  # of a size or a sum, so that a share of 0.07 of 100 rows is 7 and not 8
_TOL = 1e-3  # a solver's rows on the margin are this far from it


def inside_margin(model, X, codes: np.ndarray, margin: float) -> np.ndarray:
    """Rows whose own class wins by less than ``margin``, as a mask; labels of the model are class numbers.

    With several classes the own class must win by the margin in every pair it takes part in, or in its own output
    where a model has one per class. Rows of a class that the model does not know are inside.
    """
    decisions = model.decision_function(X, threads=1)
    clearness = np.full((len(decisions), max(codes.max(), model.labels.max()) + 1), -np.inf)
    if decisions.ndim == 1:
        decisions = np.column_stack([decisions, -decisions])
    elif model.pairwise:
        decisions = _least_in_favour(decisions, len(model.labels))
    clearness[:, model.labels] = decisions
    return clearness[np.arange(len(codes)), codes] < margin - _TOL


def _least_in_favour(decisions: np.ndarray, k: int) -> np.ndarray:
    """For each class the smallest decision value in its favour, from those of all pairs."""
    least = np.full((len(decisions), k), np.inf)
    for column, (i, j) in enumerate(combinations(range(k), 2)):
        least[:, i] = np.minimum(least[:, i], decisions[:, column])
        least[:, j] = np.minimum(least[:, j], -decisions[:, column])
    return least


def wrong_sign(model, X, codes: np.ndarray, margin: float) -> np.ndarray:
    """Rows that are given another class, as a mask."""
    return model.predict(X, threads=1) != codes


VOTES: dict[str, Callable] = {"margin": inside_margin, "sign": wrong_sign}
DROPS = ("right", "right_and_wrong")
BALANCES = ("none", "equal")


def entropy_of_errors(errors: np.ndarray, n_classifiers: int) -> np.ndarray:
    """Entropy in bits of k/N for k wrong answers of N; k and N - k are a tie to the last digit."""
    share = np.minimum(errors, n_classifiers - errors) / n_classifiers
    terms = [p * np.log2(p, out=np.zeros_like(p), where=p > 0) for p in (share, 1 - share)]
    return np.abs(terms[0] + terms[1])


def candidates_of(errors: np.ndarray, n_classifiers: int, drop: str = "right") -> np.ndarray:
    """Rows that some classifier gets wrong, as a mask; ``right_and_wrong`` drops those that all get wrong, too."""
    return (errors > 0) & ((errors < n_classifiers) | (drop == "right"))


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


def equal_classes(
    kept: np.ndarray, codes: np.ndarray, entropy: np.ndarray, candidates: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """As many rows as ``kept``, in equal parts of each class as far as it has candidates; most entropy first."""
    rows = [_by_entropy(entropy, candidates & (codes == code), random) for code in range(codes.max() + 1)]
    chosen, left = [], len(kept)
    for place, own in enumerate(sorted(rows, key=len)):  # the smaller a class, the earlier what it lacks is known
        take = min(len(own), -(-left // (len(rows) - place)))
        chosen.append(own[:take])
        left -= take
    return np.sort(np.concatenate(chosen))
