"""RSVM: the reduced SVM of Lee and Mangasarian, a thin rectangular kernel and Newton's method."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import linalg
from scipy.special import expit

from svmreduce.checks import POSITIVE, one_of
from svmreduce.core.threads import in_threads
from svmreduce.errors import InputError
from svmreduce.solvers._landmarks import LandmarkClassifier

_ARMIJO = 1e-4  # part of the promised decrease that a step must bring
_CHUNK = 2048  # rows put into the Hessian at a time
_PARTS = 4  # of the Hessian that are summed up at once


class RSVM(
    LandmarkClassifier,
    parameters="C kernel gamma coef0 degree share rows loss smoothing tol max_iter threads random_state class_weight",
):
    """Reduced SVM: all rows train, a random few carry the model, by Newton's method.

    Minimises ½(||u||² + b²) + C·Σ loss(1 − y·(Σ u_j·k(r_j, x) + b)) over coefficients u of random rows r_j. As
    in its paper the coefficients themselves are regularised, not the function they make, and so is the
    offset. The loss is the squared hinge, or its smooth form, where max(0, v) becomes log(1 + exp(s·v))/s, as in
    the paper (whose ν is 2C here). A two-class problem is solved to the optimum by a few Newton steps with
    Armijo's rule. Several classes one against one, on the landmarks of the two.

    Parameters
    ----------
    loss : {"squared_hinge", "smooth"}
        The squared hinge itself, or its smooth form.
    smoothing : float
        s of the smooth loss; the larger, the closer to the squared hinge.
    tol : float
        Stop when the gradient is at most this part of the first one.
    max_iter : int
        Maximum number of Newton steps per two-class problem; -1 for no limit.

    References
    ----------
    Lee, Mangasarian (2001): RSVM: reduced support vector machines; SSVM: a smooth support vector machine.
    """

    loss: str = "squared_hinge"
    smoothing: float = 5.0
    max_iter: int = 100
    rules: ClassVar = {"loss": one_of("squared_hinge", "smooth"), "smoothing": POSITIVE}

    def _fit_landmarks(self, K, landmarks, y, weights):
        loss = _LOSSES[self.loss](self.smoothing)
        theta, counters = newton(K, y, self.C * weights, loss, self.tol, self.max_iter, self.threads_)
        return theta[:-1], float(theta[-1]), counters


class SquaredHinge:
    """max(0, v)²: value, first and (generalised) second derivative."""

    def __init__(self, smoothing: float):
        pass

    def value(self, v):
        return np.square(np.maximum(0.0, v))

    def slopes(self, v):
        return 2 * np.maximum(0.0, v), 2.0 * (v > 0)


class SmoothHinge:
    """p(v)² with p(v) = log(1 + exp(s·v))/s, which is above max(0, v) by at most log(2)/s."""

    def __init__(self, smoothing: float):
        self.s = smoothing

    def value(self, v):
        return np.square(np.logaddexp(0.0, self.s * v) / self.s)

    def slopes(self, v):
        p, d = np.logaddexp(0.0, self.s * v) / self.s, expit(self.s * v)
        return 2 * p * d, 2 * d * (d + p * self.s * (1 - d))


_LOSSES = {"squared_hinge": SquaredHinge, "smooth": SmoothHinge}


def newton(K, y, cost, loss, tol: float, max_iter: int, threads: int) -> tuple[np.ndarray, dict]:
    """Minimise ½||θ||² + Σ cost·loss(1 − y·(K·u + b)) over θ = (u, b).

    The objective is strongly convex and its gradient is piecewise smooth, so full steps are taken in the
    end and the last digits come at once.
    """
    m = K.shape[1]
    theta, values = np.zeros(m + 1), np.zeros(len(y))
    curvature = _Curvature(K, threads)
    first = None
    steps = 0
    while True:
        margin = 1 - y * values
        slope, bend = loss.slopes(margin)
        pull = cost * y * slope
        gradient = theta - np.append(K.T @ pull, pull.sum())
        size = linalg.norm(gradient)
        first = size if first is None else first
        if size <= tol * first or steps == max_iter:
            break
        H = curvature.update(cost * bend)
        direction = _newton_direction(H, gradient)
        along = K @ direction[:-1] + direction[-1]
        # Armijo's rule
        now, promise, length = _objective(theta, margin, cost, loss), gradient @ direction, 1.0
        while length > 1e-10:
            ahead = _objective(theta + length * direction, margin - length * y * along, cost, loss)
            if ahead <= now + _ARMIJO * length * promise:
                break
            length /= 2
        else:
            break  # nothing left to gain but rounding
        theta = theta + length * direction
        values = values + length * along
        steps += 1
    return theta, {
        "objective": -_objective(theta, 1 - y * values, cost, loss),
        "gap": float(size / first) if first else 0.0,
        "n_iter": steps,
        "converged": bool(size <= tol * first),
    }


def _newton_direction(H, gradient) -> np.ndarray:
    """-H⁻¹·gradient; where rounding has left H indefinite, with the least ridge that fixes it."""
    ridge = 0.0
    while True:
        try:
            factor = linalg.cho_factor(H + ridge * np.eye(len(H)) if ridge else H, lower=True)
            return -linalg.cho_solve(factor, gradient)
        except linalg.LinAlgError:
            ridge = max(10 * ridge, 1e-16 * H.trace())
        except ValueError:
            raise InputError("the kernel values are too large to be squared: scale the data") from None


def _objective(theta, margin, cost, loss) -> float:
    return float(theta @ theta / 2 + cost @ loss.value(margin))


class _Curvature:
    """The Hessian I + Σ d·z·zᵀ with z = (kernel values of a row, 1).

    Most rows keep their d from one step to the next when the loss is piecewise quadratic, so only the changes
    are summed up.
    """

    def __init__(self, K, threads: int):
        self.K, self.threads = K, threads
        self.d, self.H = np.zeros(len(K)), np.eye(K.shape[1] + 1)

    def update(self, d) -> np.ndarray:
        changed = np.flatnonzero(d != self.d)
        if len(changed) > np.count_nonzero(d):  # less work from the start
            self.d, self.H = np.zeros(len(d)), np.eye(len(self.H))
            changed = np.flatnonzero(d)
        change = d - self.d
        # the same parts whatever the number of threads, so the same rounding
        parts = np.array_split(changed, min(_PARTS, -(-len(changed) // _CHUNK)) or 1)
        for part in in_threads(lambda p: self._sum(parts[p], change), len(parts), self.threads):
            self.H += part
        self.d = d
        return self.H

    def _sum(self, rows, change) -> np.ndarray:
        """Σ change·z·zᵀ over these rows, symmetric products so that BLAS does half the work."""
        total = np.zeros_like(self.H)
        for sign in (1, -1):
            own = rows[sign * change[rows] > 0]
            for start in range(0, len(own), _CHUNK):
                chunk = own[start : start + _CHUNK]
                Z = np.empty((len(chunk), len(total)))
                Z[:, :-1], Z[:, -1] = self.K[chunk], 1.0
                Z *= np.sqrt(np.abs(change[chunk]))[:, None]
                total += sign * (Z.T @ Z)
        return total
