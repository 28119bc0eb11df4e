"""A kernel model as scikit-learn's SVC shows it: classes ascending, and weights per feature where the kernel is linear.

Models keep LIBSVM's order of classes, which is that of its file. With two classes scikit-learn turns all signs, so that
a positive value means the second class.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from svmreduce.model.kernel_model import KernelModel
from svmreduce.rows import stacked
from svmreduce.types import Matrix


@dataclass(frozen=True)
class ClassOrder:
    """Which vectors of the model, class by class, and their coefficients, as scikit-learn's attributes have them."""

    vectors: np.ndarray  # places in the model
    dual_coef: np.ndarray
    intercepts: np.ndarray
    n_support: np.ndarray


def in_class_order(model: KernelModel) -> ClassOrder:
    """The model's vectors and numbers for ascending classes."""
    k = len(model.labels)
    old = np.argsort(model.labels)  # place in the model of each class
    ends = np.concatenate([[0], np.cumsum(model.n_support)])
    blocks = [np.arange(ends[i], ends[i + 1]) for i in old]
    begins = np.concatenate([[0], np.cumsum([block.size for block in blocks])])
    vectors = np.concatenate(blocks)
    pair_of = {pair: number for number, pair in enumerate(combinations(range(k), 2))}
    coef, intercepts = np.zeros_like(model.coef), []
    for a, b in combinations(range(k), 2):
        i, j = int(old[a]), int(old[b])
        sign = (1.0 if i < j else -1.0) * (-1.0 if k == 2 else 1.0)
        row_i, row_j = (j - 1, i) if i < j else (j, i - 1)  # of the vectors of i and j in their pair
        coef[b - 1, begins[a] : begins[a + 1]] = sign * model.coef[row_i, blocks[a]]
        coef[a, begins[b] : begins[b + 1]] = sign * model.coef[row_j, blocks[b]]
        intercepts.append(sign * model.intercepts[pair_of[min(i, j), max(i, j)]])
    return ClassOrder(vectors, coef, np.array(intercepts), model.n_support[old])


def weights_per_feature(vectors: Matrix, order: ClassOrder) -> Matrix:
    """coef_ of a linear kernel: one row per pair of classes; ``vectors`` stand in that order, sparse stays sparse."""
    k = len(order.n_support)
    ends = np.concatenate([[0], np.cumsum(order.n_support)])
    rows = []
    for a, b in combinations(range(k), 2):
        of_pair = np.zeros((1, vectors.shape[0]))
        of_pair[0, ends[a] : ends[a + 1]] = order.dual_coef[b - 1, ends[a] : ends[a + 1]]
        of_pair[0, ends[b] : ends[b + 1]] = order.dual_coef[a, ends[b] : ends[b + 1]]
        rows.append(sparse.csr_matrix(of_pair) @ vectors if sparse.issparse(vectors) else of_pair @ vectors)
    return stacked(rows)
