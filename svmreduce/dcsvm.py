"""Divide and conquer: an SVM per cluster of rows, as it is or as the start of the exact SVM."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from svmreduce.checks import NOT_NEGATIVE, SWITCH, Rule, check_parameters, is_whole
from svmreduce.core.kernel_values import single_threaded_blas
from svmreduce.core.svm_problems import epsilon_svr
from svmreduce.core.threads import in_threads, resolve_threads
from svmreduce.errors import InputError
from svmreduce.kernels import KERNELS
from svmreduce.model import ClusterModel
from svmreduce.parameters import Parameters
from svmreduce.solvers._cluster_svc import ClusterSVC
from svmreduce.solvers._clusters import ROWS_PER_CLUSTER, cluster_centres
from svmreduce.solvers._from_blocks import FromBlocks
from svmreduce.solvers._multiclass import joint_counters, one_sum, one_versus_one
from svmreduce.solvers._outcome import Outcome
from svmreduce.solvers.base import SVMClassifier, SVMRegressor, seed_of
from svmreduce.types import DualSolution

if TYPE_CHECKING:
    from svmreduce.data.blocks import Blocks

ROWS_BEFORE_EXACT = 2_500  # small clusters cost little, and leave little more to the exact stage
_OF_VECTORS = ("support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_", "coef_")


class _Divided(FromBlocks, Parameters):
    """What both share: clusters, and a solution for each of them.

    Parameters
    ----------
    n_clusters : int or "auto"
        About so many: clusters of more than twice the mean size are split, those below a tenth of it join their
        neighbours. "auto" is one for 10,000 rows, or for 2,500 before the exact stage.
    cache_mb : float
        Memory for kernel values, on every thread: clusters are solved side by side.
    max_iter : int
        Steps per two-class problem, or regression, of a cluster; -1 leaves the limit to the engine.

    Attributes
    ----------
    n_clusters_ : clusters that the rows were divided into; before the exact stage those of the last pair of classes
    """

    n_clusters: int | str = "auto"
    rules: ClassVar = {
        "n_clusters": Rule("a whole number >= 1, or 'auto'", lambda value: value == "auto" or is_whole(value, 1)),
    }

    kernels = KERNELS
    mixes_kernels = True

    def _divide(self, X) -> tuple[np.ndarray, list[np.ndarray]]:
        """Centres of clusters, and the rows of each; sets what is the same for all of them."""
        self._forget()
        self.threads_, self._seed = resolve_threads(self.threads), seed_of(self.random_state)
        n, d = X.shape
        share = ROWS_BEFORE_EXACT if getattr(self, "exact", False) else ROWS_PER_CLUSTER
        count = -(-n // share) if self.n_clusters == "auto" else min(self.n_clusters, n)
        if count == 1:
            centres, rows_of = np.zeros((1, d)), [np.arange(n)]
        else:
            with self._stage("reduce"):
                centres, cluster = cluster_centres(X, count, self._seed, self.threads_)
                rows_of = [np.flatnonzero(cluster == number) for number in range(len(centres))]
        self.n_clusters_ = len(centres)
        return centres, rows_of

    def _forget(self) -> None:
        """Drop what an earlier fit left: a model of clusters has no vectors, and rows in memory no scaler."""
        self._forget_blocks()
        for name in _OF_VECTORS:
            vars(self).pop(name, None)

    def _each_cluster(self, solve, rows_of) -> list:
        """``solve(rows)`` for every cluster, on all threads; the largest begins, so that none ends much later."""
        order = np.argsort([-rows.size for rows in rows_of], kind="stable")
        with single_threaded_blas:
            found = in_threads(lambda job: solve(rows_of[order[job]]), len(rows_of), self.threads_)
        return [found[place] for place in np.argsort(order)]

    def _joined(self, centres, outcomes: list[Outcome]) -> Outcome:
        return Outcome(ClusterModel(centres, tuple(found.model for found in outcomes)), **joint_counters(outcomes))


class DCSVM(
    _Divided,
    SVMClassifier,
    parameters="C kernel gamma coef0 degree tol n_clusters exact cache_mb max_iter threads class_weight random_state",
):
    """C-SVCs of clusters of rows: time linear in the rows, and nearly the accuracy of the SVM of all rows.

    k-means divides the rows, every cluster gets a C-SVC of its own, and a new row is decided by that of its nearest
    centre ("early prediction" of DC-SVM). This is the SVM of all rows with a kernel that is zero between clusters, and
    an intercept per cluster. It suits kernels that are small between far rows, such as rbf with a large gamma.

    The time of an SVM grows with about the power 1.65 of its rows (covertype, 20,000 to 460,000 rows), so k clusters
    need 1/k^0.65 of it, and clusters of one size a time that is linear in the rows. One cluster is the plain SVM,
    with LIBSVM's model file; a model of several has a file of its own, which ``svmreduce predict`` reads and LIBSVM's
    tools do not. A cluster with rows of one class decides for it. ``objective_`` and counters are sums over clusters.

    Weights count in the SVMs, not in the clusters: with several clusters a weighted row equals repeated rows only up
    to another division. Clusters are those of the input space, also for kernels with a norm of their own; the paper's
    are those of the kernel's space. There are no class probabilities.

    Rows that do not fit into memory are clustered by a sample and trained cluster by cluster: see ``fit_blocks``.

    Parameters
    ----------
    exact : bool
        Go on from the joint solution of the clusters to the SVM of all rows, with ``gap_`` as its certificate. The
        model is that of ``smo``, which begins in this way by itself where the kernel is local, with larger and rougher
        parts; so this is for comparison. On ijcnn1, twonorm and checkerboard it takes 1.5 to 2.4 times as long as
        ``smo``. A second level, the SVM of the clusters' support vectors before that of all rows, made it slower.

    References
    ----------
    Hsieh, Si, Dhillon (2014): A divide-and-conquer solver for kernel support vector machines.
    """

    _toy_rows = 2500  # as for SMO: every compiled function is met
    _toy_settings = ({}, {"tol": 1e-5}, {"n_clusters": 2, "exact": True})

    exact: bool = False
    rules: ClassVar = {"exact": SWITCH}

    def _solve_with(self, kernel, X, y, weights):
        if self.exact:
            return one_versus_one(self._from_clusters, X, y, weights, kernel, self.classes_)
        centres, rows_of = self._divide(X)
        svc = self._svc()
        if len(rows_of) == 1:
            return one_versus_one(svc.engine, X, y, weights, kernel, self.classes_)

        def solve(rows):
            return svc.solve(X[rows], y[rows], weights[rows], kernel, self.classes_)

        return self._joined(centres, self._each_cluster(solve, rows_of))

    def fit_blocks(self, blocks: Blocks, *, scale: str | None = None, **means: Any) -> Self:
        """Train on rows that need not fit into memory.

        Clusters come from a random sample. The rows are scattered by cluster into files, and the SVM of each cluster
        is a task of its own, on threads or on workers of a dask cluster; the model is the same for any number of them.
        Memory holds a cluster and its kernel values for each thread, and all support vectors. Threads that ``memory``
        has no room for are not used. ``seconds_`` counts scanning, k-means and scattering as ``reduce``, and has
        ``read``.

        Parameters
        ----------
        blocks : Blocks
            From ``open_blocks``, ``Blocks.of_arrays`` or ``Blocks.of_iterator``.
        scale : str, optional
            A name in ``SCALERS``: learned from all rows, and applied to rows that are predicted, too.
        **means
            Work folder, memory, engine: see :class:`svmreduce.outofcore.Means`.
        """
        from svmreduce.outofcore.division import Division
        from svmreduce.outofcore.means import Means

        check_parameters(self)
        if self.exact:
            raise InputError("exact=True needs all rows in memory: leave it out for rows in blocks")
        made = Division(self, blocks, scale, Means(**means)).run()
        self._forget()
        self._remember_blocks(blocks, made.classes, made.scaler, made.rows)
        self.n_clusters_, self.threads_ = made.clusters, made.threads
        spent = {name: made.seconds.get(name, 0.0) for name in ("scan", "cluster", "partition", "solve", "read")}
        self.seconds_ = {"convert": 0.0, "reduce": spent["scan"] + spent["cluster"] + spent["partition"],
                         "solve": spent["solve"], "read": spent["read"]}  # fmt: skip
        self._store(made.outcome, None, None)
        self._warn_unless_converged()
        return self

    def _svc(self) -> ClusterSVC:
        return ClusterSVC(self.C, self.tol, self.cache_mb, self.max_iter, self._seed, self.threads_)

    def _from_clusters(self, X, y, weights, kernel) -> DualSolution:
        """The exact solution of two classes, from those of their clusters. Each has Σβ = 0, so has their union."""
        _, rows_of = self._divide(X)
        svc = self._svc()
        if len(rows_of) == 1:
            return svc.engine(X, y, weights, kernel)
        parts = self._each_cluster(lambda rows: svc.pair(X[rows], y[rows], weights[rows], kernel), rows_of)
        start = np.zeros(y.size)
        for rows, part in zip(rows_of, parts, strict=True):
            start[rows] = part.beta
        found, before = svc.engine(X, y, weights, kernel, start), joint_counters(parts)
        return replace(found, **{name: getattr(found, name) + before[name] for name in ("n_iter", "kernel_evals")})


class DCSVR(
    _Divided,
    SVMRegressor,
    parameters="C epsilon kernel gamma coef0 degree tol n_clusters cache_mb max_iter threads random_state",
):
    """ε-SVRs of clusters of rows, as ``DCSVM``; the values jump at the borders of clusters.

    Parameters
    ----------
    epsilon : float
        Errors up to here cost nothing.
    """

    epsilon: float = 0.1
    rules: ClassVar = {"epsilon": NOT_NEGATIVE}

    def _solve(self, X, y, weights):
        kernel = self._kernel_spec(X)
        centres, rows_of = self._divide(X)

        def solve(rows):
            part = X if len(rows_of) == 1 else X[rows]
            found = epsilon_svr(part, y[rows], self.C * weights[rows], self.epsilon, kernel, tol=self.tol,
                                cache_mb=self.cache_mb, max_iter=self.max_iter, seed=self._seed,
                                threads=self.threads_)  # fmt: skip
            return one_sum(found, part, kernel, "epsilon_svr")

        if len(rows_of) == 1:
            return solve(rows_of[0])
        return self._joined(centres, self._each_cluster(solve, rows_of))
