"""1-slack cutting planes: the whole hinge loss is one function, and planes from below close in on it.

With weights that add up to one, the problem is  min ½‖w‖² + price·R(w),  R(w) = Σ weight·max(0, 1 − y·f(x)).
Every w gives one plane: the rows inside the margin there, their pull  a = Σ weight·y·φ(x)  and their weight d
say  R(w') ≥ d − a·w'  for all w'. A small quadratic program finds the best w for the planes so far, and that w
gives the next plane, until the planes are within ``tol`` of R where they are touched.

A *space* knows what w is. In ``LinearSpace`` it is a weight per feature; in ``BasisSpace``
(``svmperf_basis.py``) it lies in the span of some basis vectors in kernel space, which may still grow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmreduce.core.simplex_qp import minimise_on_simplex

PATIENCE = 50  # solves in a row for which a plane may be of no use before it is forgotten


@dataclass(frozen=True)
class Plane:
    """What one w shows: R(w') ≥ weight − pull·w' for all w', with equality here, where R is ``risk``."""

    pull: np.ndarray
    weight: float
    risk: float
    cut: np.ndarray  # 1 for the rows inside the margin


class Planes:
    """The planes so far and the best w for them. The first plane is R ≥ 0.

    Parameters
    ----------
    price : what R costs in the objective
    first : Plane
        At w = 0, where every row is inside the margin.
    """

    def __init__(self, price: float, first: Plane):
        self.price = price
        self.pulls, self.weights = np.zeros((1, len(first.pull))), np.zeros(1)
        self.cuts = np.zeros((16, first.cut.size), first.cut.dtype)  # with room for more
        self.places = np.zeros(1, np.int64)  # where those of the planes are
        self.products = np.zeros((1, 1))
        self.share, self.idle = np.ones(1), np.zeros(1, np.int64)

    def add(self, plane: Plane):
        old = len(self.weights)
        self.pulls = np.vstack([self.pulls, plane.pull])
        self.weights = np.append(self.weights, plane.weight)
        self._keep_cut(plane.cut)
        products = np.empty((old + 1, old + 1))
        products[:old, :old] = self.products
        products[old] = products[:, old] = self.pulls @ plane.pull
        self.products = products
        self.share, self.idle = np.append(self.share, 0.0), np.append(self.idle, 0)

    def _keep_cut(self, cut):
        free = np.setdiff1d(np.arange(len(self.cuts)), self.places)
        if free.size == 0:
            free = [len(self.cuts)]
            self.cuts = np.concatenate([self.cuts, np.zeros_like(self.cuts)])
        self.cuts[free[0]] = cut
        self.places = np.append(self.places, free[0])

    def add_coordinate(self, values):
        """The space has one dimension more; what each plane is there."""
        self.pulls = np.column_stack([self.pulls, values])
        self.products += np.outer(values, values)

    def optimise(self):
        """The shares of the planes in w; planes long without a share go."""
        self.share = minimise_on_simplex(self.price * self.products, self.weights, self.share)
        self.idle = np.where(self.share > 0, 0, self.idle + 1)
        self.idle[0] = 0
        keep = self.idle <= PATIENCE
        if not keep.all():
            self.pulls, self.weights, self.share = self.pulls[keep], self.weights[keep], self.share[keep]
            self.products, self.idle, self.places = (
                self.products[np.ix_(keep, keep)],
                self.idle[keep],
                self.places[keep],
            )

    def normal(self) -> np.ndarray:
        return self.price * (self.share @ self.pulls)

    def risk(self, w) -> float:
        """The planes' bound on R(w) from below."""
        return float((self.weights - self.pulls @ w).max())

    def bound(self) -> float:
        """No w of this space has a smaller objective."""
        w = self.normal()
        return self.price * float(self.share @ self.weights) - 0.5 * float(w @ w)


class LinearSpace:
    """w is a weight per feature, and one for the constant feature ``bias``.

    Parameters
    ----------
    X : array or CSR matrix
    pull : array, y·weight of each row, weights adding up to one
    """

    grows = False

    def __init__(self, X, pull, bias: float):
        self.X, self.pull, self.bias = X, pull, bias
        self.dimension = 1 + X.shape[1]
        self.kernel_evals = 0

    def plane(self, w) -> Plane:
        slack = np.abs(self.pull) - self.pull * (self.X @ w[1:] + self.bias * w[0])
        cut = slack > 0
        pull = np.where(cut, self.pull, 0.0)
        a = np.concatenate([[self.bias * pull.sum()], self.X.T @ pull])
        return Plane(a, float(np.abs(pull).sum()), float(slack[cut].sum()), cut)


@dataclass(frozen=True)
class Found:
    """The end of the search: w, how far R is above the planes there, and the bound on the objective."""

    w: np.ndarray
    gap: float
    bound: float
    n_iter: int


def search(space, price: float, tol: float, max_iter: int) -> Found:
    """Cutting planes until R is at most ``tol`` above them; a space that grows does so with every plane."""
    w = np.zeros(space.dimension)
    plane = space.plane(w)
    planes, n_iter = Planes(price, plane), 0
    while True:
        gap = max(0.0, plane.risk - planes.risk(w))
        if n_iter >= max_iter or (gap <= tol and not space.grows):
            return Found(w, gap, planes.bound(), n_iter)
        planes.add(plane)
        if space.grows:
            values = space.extend(plane, planes)
            if values is not None:
                planes.add_coordinate(values)
        planes.optimise()
        w = planes.normal()
        plane = space.plane(w)
        n_iter += 1
