"""An SVM per cluster of rows, in one model: the nearest centre says whose decision values a row gets.

LIBSVM's file holds one SVM. The file here looks like it, LIBSVM's tools refuse it, and ``load_model`` recognises it by
its first word::

    cluster_type nearest_centre
    kernel_type rbf                  as in LIBSVM's files
    gamma 32.0
    nr_class 2
    label 1 -1
    nr_cluster 46
    total_sv 70190
    CLUSTERS
    nr_sv… rho… index:value…         a line per cluster: its vectors by class, a rho per pair of classes, its centre
    coefficient… index:value…        its support vectors and those of the next clusters, as in LIBSVM's files

A regression has ``nr_class 0``, no labels, and one nr_sv and one rho per cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from svmreduce.core.kernel_values import single_threaded_blas
from svmreduce.core.threads import in_threads, resolve_threads
from svmreduce.errors import InputError
from svmreduce.kernels import PRECOMPUTED, KernelMixture, KernelSpec
from svmreduce.model.base import TextModel
from svmreduce.model.kernel_lines import kernel_header, kernel_line, read_kernel
from svmreduce.model.kernel_model import KernelModel
from svmreduce.model.text import ModelText, features_line, header_labels
from svmreduce.model.vector_lines import format_rows, parse_rows
from svmreduce.rows import DENSE_FROM, finite_rows, widened
from svmreduce.types import Matrix

_BLOCK = 1 << 20  # distances computed at a time
_TIE = 1e-12  # of a row's largest distance: what rounding may make of equal ones


def nearest_centres(X: Matrix, centres: np.ndarray, threads: int | None = None) -> np.ndarray:
    """For every row the number of its nearest centre, of equally near ones the first.

    Distances are float32, and double for rows for which that leaves a doubt, so the answer is that of double. Columns
    beyond those of the centres do not change what is nearest, and columns that are not there are zeros.
    """
    n, d = X.shape[0], centres.shape[1]
    X = X[:, :d] if X.shape[1] > d else X
    shift = np.zeros(d) if sparse.issparse(X) else centres.mean(axis=0)  # large equal parts would only cancel
    with np.errstate(over="ignore", invalid="ignore"):
        moved = centres - shift
        half_norms = 0.5 * np.square(moved).sum(axis=1)
        single, single_norms = moved.astype(np.float32).T, half_norms.astype(np.float32)
        longest = np.sqrt(2.0 * half_norms.max())
    found, size = np.empty(n, np.int64), max(64, _BLOCK // len(centres))

    def exactly(rows):
        away = half_norms - rows @ moved.T
        if not np.isfinite(away).all():
            raise InputError("numbers are too large for distances to the centres of clusters: scale the data")
        least = away.min(axis=1, keepdims=True) + _TIE * np.abs(away).max(axis=1, keepdims=True)
        return (away <= least).argmax(axis=1)

    def work(block):
        part = slice(block * size, (block + 1) * size)
        rows = widened(X[part], d)
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(rows):
                found[part] = exactly(rows)
                return
            rows = rows - shift
            away = rows.astype(np.float32) @ single
            np.subtract(single_norms, away, out=away)
            # What float32 may make of equal distances: d + 3 roundings of numbers up to ‖x‖·‖c‖ and ‖c‖²/2
            wrong = (d + 3) * np.finfo(np.float32).eps * longest * (np.sqrt(np.square(rows).sum(axis=1)) + longest)
            near = away <= (away.min(axis=1) + wrong.astype(np.float32))[:, None]
            doubtful = np.flatnonzero(np.count_nonzero(near, axis=1) != 1)
            nearest = near.argmax(axis=1)
            if doubtful.size:
                nearest[doubtful] = exactly(rows[doubtful])
        found[part] = nearest

    with single_threaded_blas:
        in_threads(work, -(-n // size), resolve_threads(threads))
    return found


@dataclass(frozen=True, eq=False)
class ClusterModel(TextModel):
    """A kernel model per cluster; a row is decided by that of its nearest centre.

    Parameters
    ----------
    centres : array of shape (clusters, n_features)
    parts : tuple of KernelModel, one per cluster, with the same kernel and labels
        Two classes of which a cluster has only one have the value 1 for it, and two that it does not have the value 0.
    """

    centres: np.ndarray
    parts: tuple[KernelModel, ...]
    pairwise = True
    sigmoids = None
    _header = frozenset(
        {"cluster_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "label", "nr_cluster", "total_sv"}
    )
    _last_word = "CLUSTERS"

    @property
    def kernel(self) -> KernelSpec | KernelMixture:
        return self.parts[0].kernel

    @property
    def labels(self) -> np.ndarray | None:
        return self.parts[0].labels

    @property
    def task(self) -> str:
        return self.parts[0].task

    @property
    def n_vectors(self) -> int:
        return sum(part.n_vectors for part in self.parts)

    @property
    def n_features(self) -> int:
        return self.centres.shape[1]

    @property
    def file_format(self) -> str:
        return f"svmreduce's own format: {len(self.parts)} clusters with an SVM each; LIBSVM's tools cannot read it"

    def decision_function(self, X: Matrix, *, threads: int | None = None) -> np.ndarray:
        """Decision values of the row's cluster: shape (n,), or (n, k(k-1)/2) for k > 2 classes."""
        return self._of_clusters(X, "decision_function", threads)

    def predict(self, X: Matrix, *, threads: int | None = None) -> np.ndarray:
        return self._of_clusters(X, "predict", threads)

    def decide(self, decisions: np.ndarray) -> np.ndarray:
        return self.parts[0].decide(decisions)

    def _of_clusters(self, X, method: str, threads: int | None) -> np.ndarray:
        """What the part of each row's cluster answers."""
        X = finite_rows(X)
        cluster = nearest_centres(X, self.centres, threads)
        order = np.argsort(cluster, kind="stable")
        rows_of = np.split(order, np.cumsum(np.bincount(cluster, minlength=len(self.parts)))[:-1])
        with_rows = [number for number, rows in enumerate(rows_of) if rows.size] or [0]

        def work(job):
            number = with_rows[job]
            return getattr(self.parts[number], method)(X[rows_of[number]], threads=threads)

        with single_threaded_blas:
            answers = in_threads(work, len(with_rows), resolve_threads(threads))
        answer = np.concatenate(answers)
        found = np.empty_like(answer)
        found[order] = answer
        return found

    def _numbers(self):
        return [array for part in self.parts for array in part._numbers()]

    def _pieces(self):
        trailer = ""
        yield f"cluster_type nearest_centre\n{kernel_header(self.kernel)}"
        yield f"nr_class {0 if self.labels is None else len(self.labels)}\n"
        if self.labels is not None:
            numbers, trailer = header_labels(self.labels)
            yield f"label {' '.join(map(str, numbers))}\n"
        yield f"nr_cluster {len(self.parts)}\ntotal_sv {self.n_vectors}\nCLUSTERS\n"
        counts = [[part.n_vectors] if part.n_support is None else part.n_support for part in self.parts]
        rhos = [-part.intercepts for part in self.parts]
        yield from format_rows(np.hstack([np.array(counts, dtype=np.float64), np.array(rhos)]).T, self.centres)
        for part in self.parts:
            yield from format_rows(part.coef, part.vectors)
        yield trailer + kernel_line(self.kernel) + features_line(self.n_features, 0)

    @classmethod
    def from_text(cls, text: ModelText) -> ClusterModel:
        if text.word("cluster_type") != "nearest_centre":
            raise text.fail(text.lines["cluster_type"], "unknown cluster_type: known is nearest_centre")
        kernel = read_kernel(text)
        k, clusters, n_sv = text.count("nr_class"), text.count("nr_cluster", 1), text.count("total_sv", 1)
        if kernel.name == PRECOMPUTED or k == 1:
            raise text.fail(None, "clusters have no precomputed kernel, and no class or at least two")
        labels = text.labels(k) if k else None
        if k and len(np.unique(labels)) != k:
            raise text.fail(text.lines["label"], "a label appears twice")
        if len(text.body) < clusters + n_sv:
            needed = f"{clusters} lines of clusters and {n_sv} of support vectors are needed"
            line = text.body_line + len(text.body)
            raise text.fail(line, f"{needed}, the file has {len(text.body)}: it is cut short; train again")
        outputs, blocks = max(1, k * (k - 1) // 2), max(1, k)
        head, centres = parse_rows(text, clusters, blocks + outputs)
        counts = head[:blocks].T
        whole = np.all(counts == np.rint(counts)) and counts.min() >= 0 and counts.sum(axis=1).min() >= 1
        if not whole or counts.sum() != n_sv:
            raise text.fail(text.lines["total_sv"], f"nr_sv of the clusters must be whole and add up to {n_sv}")
        rest = replace(text, body=text.body[clusters:], body_line=text.body_line + clusters)
        coef, vectors = parse_rows(rest, n_sv, max(1, k - 1))
        width = text.features(max(vectors.shape[1], centres.shape[1]))
        vectors = widened(vectors, width)
        if vectors.nnz >= DENSE_FROM * n_sv * width:
            vectors = vectors.toarray()
        ends = np.concatenate([[0], np.cumsum(counts.sum(axis=1))]).astype(np.int64)
        parts = tuple(
            KernelModel(kernel, vectors[a:b], np.ascontiguousarray(coef[:, a:b]), -rho + 0.0, labels,
                        own.astype(np.int64) if k else None, "c_svc" if k else "epsilon_svr")
            for a, b, own, rho in zip(ends[:-1], ends[1:], counts, head[blocks:].T, strict=True)
        )  # fmt: skip
        return cls(widened(centres, width).toarray(), parts)
