"""Trained linear models and LIBLINEAR's model files, both ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmreduce.model.base import TextModel
from svmreduce.model.text import ModelText, header_labels
from svmreduce.rows import finite_rows

# LIBLINEAR's names by their -s number; one-class is left out, its offset has another meaning
SOLVER_TYPES = {
    "L2R_LR": 0,
    "L2R_L2LOSS_SVC_DUAL": 1,
    "L2R_L2LOSS_SVC": 2,
    "L2R_L1LOSS_SVC_DUAL": 3,
    "MCSVM_CS": 4,
    "L1R_L2LOSS_SVC": 5,
    "L1R_LR": 6,
    "L2R_LR_DUAL": 7,
    "L2R_L2LOSS_SVR": 11,
    "L2R_L2LOSS_SVR_DUAL": 12,
    "L2R_L1LOSS_SVR_DUAL": 13,
}


@dataclass(frozen=True, eq=False)
class LinearModel(TextModel):
    """One weight per feature and output: w·x + b.

    Two classes share one output (positive means ``labels[0]``); more classes have one output each and
    the largest wins; regression has one output and no labels.

    Parameters
    ----------
    weights : array of shape (n_outputs, n_features)
    intercepts : array of shape (n_outputs,)
    labels : array of shape (k,), or None for regression
    solver_type : LIBLINEAR's name of the problem that was solved
    bias : the constant feature LIBLINEAR added; below 0 when there was none
    """

    weights: np.ndarray
    intercepts: np.ndarray
    labels: np.ndarray | None = None
    solver_type: str = "L2R_L2LOSS_SVC_DUAL"
    bias: float = 1.0
    pairwise = False  # one output per class
    file_format = "LIBLINEAR's format"
    _header = frozenset({"solver_type", "nr_class", "label", "nr_feature", "bias"})
    _last_word = "w"

    @property
    def n_features(self) -> int:
        return self.weights.shape[1]

    @property
    def task(self) -> str:
        return "regression" if self.labels is None else "classification"

    def decision_function(self, X, *, threads: int | None = None) -> np.ndarray:
        """Decision values (n,) or (n, k); columns the model never saw are ignored, as in LIBLINEAR."""
        X = finite_rows(X)
        width = min(X.shape[1], self.n_features)
        values = X[:, :width] @ self.weights[:, :width].T + self.intercepts
        return values[:, 0] if values.shape[1] == 1 else values

    def _numbers(self):
        return [self.weights, self.intercepts]

    def _pieces(self):
        trailer = ""
        yield f"solver_type {self.solver_type}\n"
        yield f"nr_class {2 if self.labels is None else len(self.labels)}\n"
        if self.labels is not None:
            numbers, trailer = header_labels(self.labels)
            yield f"label {' '.join(map(str, numbers))}\n"
        yield f"nr_feature {self.n_features}\nbias {float(self.bias)!r}\nw\n"
        rows = self.weights.T.tolist()
        if self.bias >= 0:  # the file keeps the weight of the constant feature, not the product
            rows.append((self.intercepts / self.bias if self.bias > 0 else self.intercepts * 0).tolist())
        for row in rows:
            yield " ".join(map(repr, row)) + " \n"
        yield trailer

    @classmethod
    def from_text(cls, text: ModelText) -> LinearModel:
        solver_type = text.word("solver_type")
        if solver_type not in SOLVER_TYPES:
            known = ", ".join(SOLVER_TYPES)
            raise text.fail(text.lines["solver_type"], f"cannot use {solver_type!r}: known are {known}")
        k, features = text.count("nr_class", least=2), text.count("nr_feature", least=1)
        labels = None if "_SVR" in solver_type else text.labels(k)
        bias = text.number("bias")
        outputs = 1 if labels is None or (k == 2 and solver_type != "MCSVM_CS") else k
        rows = features + (bias >= 0)
        weights = text.table(rows, outputs, "weights")
        intercepts = bias * weights[-1] if bias >= 0 else np.zeros(outputs)
        own = np.ascontiguousarray(weights[:features].T)
        return cls(own, intercepts, labels, solver_type, bias)
