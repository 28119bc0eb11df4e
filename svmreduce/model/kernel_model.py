"""Kernel models: the result of every kernel solver, and LIBSVM's model files both ways."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from svmreduce.core import kernel_values
from svmreduce.errors import InputError
from svmreduce.kernels import PRECOMPUTED, KernelMixture, KernelSpec
from svmreduce.model.base import TextModel
from svmreduce.model.kernel_lines import kernel_header, kernel_line, read_kernel
from svmreduce.model.probabilities import class_probabilities
from svmreduce.model.text import ModelText, features_line, header_labels
from svmreduce.model.vector_lines import format_rows, parse_rows
from svmreduce.rows import DENSE_FROM, finite_rows, widened
from svmreduce.types import Matrix

CLASSIFIERS = ("c_svc", "nu_svc")
SVM_TYPES = (*CLASSIFIERS, "one_class", "epsilon_svr", "nu_svr")
_PROBE = 128  # rows on which the error of float32 is measured
_SIGMOIDS = ("probA", "probB")


@dataclass(frozen=True, eq=False)
class KernelModel(TextModel):
    """A sum of kernels around support vectors, one sum per pair of classes.

    Kept as LIBSVM keeps it. Support vectors are ordered class by class, as in ``labels``. A vector of
    class i takes part in k-1 of the k(k-1)/2 pairs, so ``coef`` has k-1 rows: in the pair (i, j) with
    i < j, vectors of class i use row j-1 and vectors of class j use row i. A positive decision value
    of the pair is a vote for i. A kernel that LIBSVM does not have keeps its own name in the model's file, which
    ``load_model`` reads and LIBSVM's tools refuse.

    Parameters
    ----------
    kernel : KernelSpec or KernelMixture
    vectors : array or CSR matrix of shape (n_sv, n_features)
    coef : array of shape (k-1, n_sv); (1, n_sv) for regression and one-class
    intercepts : array, one per pair in the order (0,1), (0,2), …, (1,2), …; LIBSVM's rho is its negative
    labels : array of shape (k,), or None for regression and one-class
    n_support : array of shape (k,), support vectors of each class, or None
    svm_type : one of c_svc, nu_svc, one_class, epsilon_svr, nu_svr
    sigmoids : array of shape (2, pairs), LIBSVM's probA and probB, or None for a model without probabilities
    """

    kernel: KernelSpec | KernelMixture
    vectors: Matrix
    coef: np.ndarray
    intercepts: np.ndarray
    labels: np.ndarray | None = None
    n_support: np.ndarray | None = None
    svm_type: str = "c_svc"
    notes: tuple[str, ...] = ()
    sigmoids: np.ndarray | None = None
    pairwise = True  # one output per pair of classes
    file_format = "LIBSVM's format"
    _header = frozenset(
        {"svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho", "label", "nr_sv"}
        | {*_SIGMOIDS, "prob_density_marks"}
    )
    _last_word = "SV"

    @property
    def n_vectors(self) -> int:
        return self.vectors.shape[0]

    @property
    def n_features(self) -> int:
        return self.vectors.shape[1]

    @property
    def task(self) -> str:
        return "regression" if self.svm_type.endswith("_svr") else "classification"

    def decision_function(self, X: Matrix, *, threads: int | None = None) -> np.ndarray:
        """Decision values: shape (n,) for one sum, (n, k(k-1)/2) for k > 2 classes.

        A file with more columns than the model, or fewer, is fine: columns that are not there are
        zeros, as in LIBSVM.
        """
        return self._decisions(finite_rows(X), threads, np.float64)

    def _decisions(self, X, threads, dtype) -> np.ndarray:
        X, vectors = (X, self.vectors) if self.kernel.name == PRECOMPUTED else _same_width(X, self.vectors)
        if self.labels is None or len(self.labels) == 2:
            values = kernel_values.decision_function(self.kernel, X, vectors, self.coef.T, threads, dtype)
            return values[:, 0] + self.intercepts[0]
        # One class of vectors at a time: every kernel value is computed once, and a vector is only
        # multiplied into the k-1 pairs it takes part in.
        k = len(self.labels)
        ends = np.concatenate([[0], np.cumsum(self.n_support)])
        shares = kernel_values.decision_shares(self.kernel, X, vectors, self.coef.T, ends, threads, dtype)
        pairs = [shares[i][:, j - 1] + shares[j][:, i] for i, j in combinations(range(k), 2)]
        return np.column_stack(pairs) + self.intercepts

    def predict(self, X: Matrix, *, threads: int | None = None) -> np.ndarray:
        """Labels (or values, for regression) exactly as ``svm-predict`` decides them.

        A label depends on signs only, so float32 kernel values decide it, but for the rows where a decision
        value is not far above their error (as seen on a sample of rows): those are done in double.
        """
        X = finite_rows(X)
        n = X.shape[0]
        if self.task == "regression" or n < 10 * _PROBE:
            return super().predict(X, threads=threads)
        decisions = self._decisions(X, threads, np.float32)
        probe = np.linspace(0, n - 1, _PROBE).astype(np.intp)
        error = np.abs(decisions[probe] - self.decision_function(X[probe], threads=threads)).max()
        sure = np.abs(decisions) > 20 * error
        doubtful = np.flatnonzero(~(sure if sure.ndim == 1 else sure.all(axis=1)))
        if doubtful.size:
            decisions[doubtful] = self.decision_function(X[doubtful], threads=threads)
        return self.decide(decisions)

    def decide(self, decisions: np.ndarray) -> np.ndarray:
        if self.svm_type == "one_class":
            return np.where(decisions > 0, 1, -1)
        return super().decide(decisions)

    def probabilities(self, decisions: np.ndarray, winners: np.ndarray | None = None) -> np.ndarray:
        """Class probabilities of these decision values, columns as ``labels``; the label's is always the largest.

        ``winners`` are the places of labels that were decided in another way than ``decide`` does.
        """
        if self.sigmoids is None:
            raise InputError("the model has no probabilities: train it with probability=True (train -b 1)")
        winners = self._winners(decisions) if winners is None else winners
        return class_probabilities(decisions, self.sigmoids, winners, len(self.labels))

    def _numbers(self):
        return [self.coef, self.intercepts, self.vectors.data if sparse.issparse(self.vectors) else self.vectors]

    def _pieces(self):
        trailer = ""
        yield f"svm_type {self.svm_type}\n{kernel_header(self.kernel)}"
        yield f"nr_class {2 if self.labels is None else len(self.labels)}\ntotal_sv {self.n_vectors}\n"
        yield f"rho {' '.join(repr(-rho) for rho in self.intercepts.tolist())}\n"
        if self.labels is not None:
            numbers, trailer = header_labels(self.labels)
            yield f"label {' '.join(map(str, numbers))}\n"
            for name, values in zip(_SIGMOIDS, () if self.sigmoids is None else self.sigmoids.tolist(), strict=False):
                yield f"{name} {' '.join(map(repr, values))}\n"
            yield f"nr_sv {' '.join(map(str, self.n_support.tolist()))}\n"
        yield "SV\n"
        yield from format_rows(self.coef, self.vectors, first=_first_column(self.kernel))
        used = self.vectors.indices if sparse.issparse(self.vectors) else np.flatnonzero(self.vectors.any(axis=0))
        yield trailer + kernel_line(self.kernel) + features_line(self.n_features, used.max(initial=-1) + 1)

    @classmethod
    def from_text(cls, text: ModelText) -> KernelModel:
        svm_type = text.word("svm_type")
        if svm_type not in SVM_TYPES:
            known = ", ".join(SVM_TYPES)
            raise text.fail(text.lines["svm_type"], f"unknown svm_type {svm_type!r}: known are {known}")
        kernel = read_kernel(text)
        k, n_sv = text.count("nr_class", least=2), text.count("total_sv", least=1)
        labels = n_support = None
        if svm_type in CLASSIFIERS:
            n_support = np.array(text.numbers("nr_sv", int, k), dtype=np.int64)
            labels = text.labels(k)
            if len(np.unique(labels)) != k:
                raise text.fail(text.lines["label"], "a label appears twice")
            if n_support.min() < 0 or n_support.sum() != n_sv:
                raise text.fail(text.lines["nr_sv"], f"the counts must add up to total_sv {n_sv}")
        elif k != 2:
            raise text.fail(text.lines["nr_class"], f"{svm_type} models have nr_class 2, got {k}")
        intercepts = -np.array(text.numbers("rho", float, k * (k - 1) // 2)) + 0.0
        coef, vectors = parse_rows(text, n_sv, k - 1, first=_first_column(kernel))
        if kernel.name == PRECOMPUTED and vectors.shape[1] != 1:
            raise text.fail(text.lines["kernel_type"], "vectors of a precomputed kernel are numbers of training rows, "
                            "0:NUMBER, and these have features")  # fmt: skip
        vectors = widened(vectors, text.features(vectors.shape[1]))
        if vectors.nnz >= DENSE_FROM * vectors.shape[0] * vectors.shape[1]:
            vectors = vectors.toarray()
        sigmoids, notes = None, ()
        if labels is not None and any(name in text.header for name in _SIGMOIDS):
            sigmoids = np.array([text.numbers(name, float, len(intercepts)) for name in _SIGMOIDS])
        elif ignored := sorted({*_SIGMOIDS, "prob_density_marks"} & text.header.keys()):
            notes = (f"probability estimates of {svm_type} are not used ({', '.join(ignored)})",)
        return cls(kernel, vectors, coef, intercepts, labels, n_support, svm_type, notes, sigmoids)


def _first_column(kernel) -> int:
    """How files count: vectors of a table of kernel values are row numbers, under the index 0."""
    return 0 if kernel.name == PRECOMPUTED else 1


def _same_width(X, vectors):
    """Both with the columns of the wider one."""
    width = max(X.shape[1], vectors.shape[1])
    return widened(X, width), widened(vectors, width)
