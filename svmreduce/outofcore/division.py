"""Divide and conquer over blocks: clusters from a sample, rows scattered by cluster, an SVM per cluster.

The first pass draws the sample, and k-means divides it as ``DCSVM`` does in memory. The second pass writes every row
into the file of its nearest centre. The sample foretells the sizes of clusters only roughly: if one of them exceeds
twice the mean, it is divided once more by a sample of its own rows, and the pass is repeated with the new centres.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

from svmreduce.core.threads import resolve_threads
from svmreduce.data.scaling import Scaler
from svmreduce.errors import InputError
from svmreduce.model import ClusterModel, KernelModel
from svmreduce.outofcore.block_sample import BlockSample
from svmreduce.outofcore.block_work import BlockWork
from svmreduce.outofcore.means import class_factors
from svmreduce.outofcore.partition_tasks import Table
from svmreduce.outofcore.row_files import RowFiles
from svmreduce.outofcore.scanning import ordered
from svmreduce.outofcore.scattering import ClusterParts
from svmreduce.outofcore.section_tasks import outcome_of
from svmreduce.outofcore.work_folder import load_arrays, save_arrays
from svmreduce.rows import stacked
from svmreduce.solvers._clusters import LARGEST, ROWS_PER_CLUSTER, cluster_centres
from svmreduce.solvers._multiclass import joint_counters
from svmreduce.solvers._outcome import Outcome
from svmreduce.solvers.base import seed_of

SAMPLED, FINAL = "sampled_centres.npz", "centres.npz"
PER_CENTRE, LEAST_PER_CENTRE, LEAST_SAMPLE = 128, 16, 1 << 15  # rows of the sample
SAMPLE_SHARE, CACHE_SHARE = 16, 4  # of the memory: a sixteenth for the sample, a quarter for a thread's kernel values
LARGEST_IN_SAMPLE = 1.5  # times the mean: a cluster of the sample that is larger may exceed LARGEST in all rows
AT_ONCE = 64  # rows
ROUNDS = 2  # repetitions of the second pass at most: equal rows cannot be divided


class Divided(NamedTuple):
    """The model and its counters, and what was learned from all rows."""

    outcome: Outcome
    scaler: Scaler | None
    classes: np.ndarray
    rows: int
    clusters: int
    threads: int
    seconds: dict


class Division(BlockWork):
    """DCSVM: sections are clusters with rows of all classes, each of which becomes an SVM."""

    decisive = ("C", "tol", "max_iter", "cache_mb", "n_clusters")
    doing, stage = "training", "solve"

    def run(self) -> Divided:
        self.seed, self.threads = seed_of(self.method.random_state), resolve_threads(self.method.threads)
        self.memory = self.means.memory_bytes
        return super().run()

    def _identity(self) -> dict:
        return super()._identity() | {"seed": self.seed, "class_weight": repr(self.method.class_weight)}

    def _first_pass(self) -> dict:
        """Scaling, gamma, and the centres of clusters."""
        wanted = self._clusters(self.blocks.n_rows or 1000 * ROWS_PER_CLUSTER)
        rows = max(LEAST_SAMPLE, PER_CENTRE * wanted)
        sample = BlockSample(rows=max(1, min(rows, self.memory // SAMPLE_SHARE // self._row_bytes())), seed=self.seed)
        found, _, plan = self._learned(sample)
        if len(found.classes.codes) < 2:
            raise InputError(f"{self.blocks.name}: training needs rows of at least two classes; got 1 class")
        start = perf_counter()
        X = ordered(found, sample.rows_kept()[0])
        count = self._clusters(found.rows)
        if count > X.shape[0] // LEAST_PER_CENTRE and count > 1:
            if self.method.n_clusters != "auto":
                raise InputError(f"{self.blocks.name}: {count} clusters of a sample of {X.shape[0]} rows, each needs "
                                 f"{LEAST_PER_CENTRE}: lower n_clusters, or give more by --memory")  # fmt: skip
            count = max(1, X.shape[0] // LEAST_PER_CENTRE)
        centres = self._centres(X, count)
        self._took("cluster", perf_counter() - start)
        save_arrays(self.folder.path / SAMPLED, {"centres": centres})
        cache = min(self.method.cache_mb, max(1.0, self.memory / CACHE_SHARE / 2**20))
        return plan | {"count": count, "cache_mb": cache}

    def _clusters(self, rows: int) -> int:
        given = self.method.n_clusters
        return -(-rows // ROWS_PER_CLUSTER) if given == "auto" else min(given, rows)

    def _centres(self, X, count: int) -> np.ndarray:
        if count == 1:
            return np.zeros((1, X.shape[1]))
        return cluster_centres(X, count, self.seed, self.threads, LARGEST_IN_SAMPLE)[0]

    def _scatter(self, plan: dict, files: RowFiles) -> dict:
        """Write all rows by cluster; clusters that turn out too large are divided again."""
        known = load_arrays(self.folder.path / SAMPLED)
        if known is None:
            raise InputError(f"{self.folder.path / SAMPLED}: is damaged; remove the folder and start again")
        centres, written = known["centres"], []
        for left in reversed(range(ROUNDS + 1)):
            found = self._cut(plan, files, ClusterParts(centres, self.threads))
            written = [cluster for cluster in found.pop("written") if cluster[2]]  # (number, name, rows)
            better = self._smaller(files, centres, written, sum(found["counts"]) / plan["count"]) if left else None
            if better is None:
                break
            centres = better
            files.remove()
        save_arrays(self.folder.path / FINAL, {"centres": centres[[number for number, *_ in written]]})
        svc = {name: getattr(self.method, name) for name in ("C", "tol", "max_iter")}
        svc |= {"cache_mb": plan["cache_mb"], "seed": self.seed}
        counts = dict(zip(found["labels"], found["counts"], strict=True))
        factors = list(class_factors(self.method.class_weight, counts).values())
        sections = [(number, name, 0, rows) for number, name, rows in written]
        return {"task": "solve", "svc": svc, "factors": factors, **found, "sections": sections,
                "row_bytes": plan["bytes"] / sum(found["counts"])}  # fmt: skip

    def _smaller(self, files: RowFiles, centres: np.ndarray, written: list, share: float) -> np.ndarray | None:
        """Centres of which those of too large clusters are replaced by several; None if there is nothing to divide."""
        new, kept = [], np.ones(len(centres), bool)
        for number, name, rows in written:
            count = round(rows / share)
            if rows <= LARGEST * share or count < 2:
                continue
            # Few rows from each of many places of the file
            starts = np.linspace(0, max(0, rows - AT_ONCE), max(AT_ONCE, PER_CENTRE * count // AT_ONCE)).astype(int)
            X = stacked([files.read(name, start, min(rows, start + AT_ONCE))[0] for start in np.unique(starts)])
            parts = self._centres(X, min(count, X.shape[0]))
            if len(parts) > 1:
                kept[number] = False
                new.append(parts)
        return np.vstack([centres[kept], *new]) if new else None

    def _threads(self, table: Table) -> int:
        """As many as there is memory for: each has a partition, the engine's copies of it, and kernel values."""
        largest = max(section.stop for section in table.sections)
        rows = 3.0 * largest * table.content["row_bytes"]
        if rows > self.memory:
            raise InputError(f"{self.blocks.name}: {largest} rows are in one cluster, too many for {self.memory >> 20} "
                             "MB of memory: raise n_clusters, leave out equal rows (reduce --set epsilon=0), or give "
                             "more by --memory")  # fmt: skip
        cache = min(table.content["svc"]["cache_mb"] * 2**20, 4.0 * largest**2)
        return max(1, min(self.threads, int(self.memory // (rows + cache))))

    def _together(self, table: Table, plan: dict) -> Divided:
        """The models of all clusters as one."""
        content, outcomes = table.content, []
        held = sum((table.folder / section.result).stat().st_size for section in table.sections)
        if held > self.memory:
            raise InputError(f"{self.blocks.name}: the support vectors alone need {held >> 20} MB, --memory allows "
                             f"{self.memory >> 20} MB: the same command with more goes on, or use a smaller gamma or "
                             "--reducer random")  # fmt: skip
        centres = load_arrays(table.folder / FINAL)
        if centres is None:
            raise InputError(f"{table.folder / FINAL}: is damaged; remove the folder and start again")
        classes = np.sort(np.array(content["labels"]))
        for _, X, arrays in table.results():
            model = KernelModel(table.kernel, X, arrays["coef"], arrays["intercepts"], classes[arrays["labels"]],
                                arrays["n_support"])  # fmt: skip
            outcomes.append(outcome_of(model, arrays["facts"]))
        outcome = outcomes[0]
        if len(outcomes) > 1:
            model = ClusterModel(centres["centres"], tuple(found.model for found in outcomes))
            outcome = Outcome(model, **joint_counters(outcomes))
        scaler = plan["scaler"] and Scaler.from_json(plan["scaler"])
        return Divided(outcome, scaler, classes, sum(content["counts"]), len(outcomes), self.threads, self.seconds)
