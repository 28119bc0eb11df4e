"""DeriveRS over blocks, step by step.

DeriveRS takes two passes. The first one learns labels, scaling and where to cut, the second scatters the rows into
partitions on the disk; then every partition is derived by itself. With ``fls1``, which cuts in file order, and
nothing to learn, one pass is enough. ``fls2`` halves a class again and again in memory, each time by the distance from
another row; out of core it cuts a class once, by quantiles of the distance from its first row.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from uuid import uuid4

import numpy as np
from scipy import sparse

import svmreduce
from svmreduce.core.jit import resolve_threads
from svmreduce.data.scaling import Scaler
from svmreduce.errors import InputError
from svmreduce.kernels import GAUSSIANS, PRECOMPUTED, KernelPart, KernelSpec, parse_kernel
from svmreduce.outofcore.block_sample import BlockSample
from svmreduce.outofcore.means import BlockReduction, Means
from svmreduce.outofcore.partition_tasks import PARTITIONS, Table, derive_here, derive_in_cluster
from svmreduce.outofcore.row_files import RowFiles
from svmreduce.outofcore.scanning import Reading, cut_points, row_bytes, scan
from svmreduce.outofcore.scattering import scatter
from svmreduce.outofcore.work_folder import WorkFolder, disk_error
from svmreduce.paths import cache_home
from svmreduce.reducers._partition import distinct
from svmreduce.reducers.derive_rs import DeriveRS
from svmreduce.types import Reduction

PLAN = "plan.json"
SAMPLE_ROWS, SAMPLE_BYTES = 1 << 17, 64 << 20  # of the rows that say where to cut
LEAST_SAMPLE, SPARSE_ROW = 4096, 2000


@dataclass
class Derivation:
    """DeriveRS over blocks, step by step; each step is skipped if the work folder has its result."""

    reducer: DeriveRS
    blocks: object
    scale: str | None
    means: Means
    seconds: dict = field(default_factory=dict)

    def run(self) -> BlockReduction:
        self.reducer.check_levels()
        self.scale = None if self.scale == "none" else self.scale
        self.part = self._kernel_part()
        given = self.means.work
        folder = Path(tempfile.mkdtemp(prefix="work-", dir=_made(cache_home()))) if given is None else Path(given)
        self.folder = WorkFolder(folder, self._identity())
        done = False
        try:
            plan = self.folder.read_json(PLAN) or self._first_pass()
            table = self._table(plan)
            self._derive(table)
            result = self._together(table, plan)
            done = True
            return result
        except OSError as error:
            raise disk_error(self.folder.path, error) from None
        finally:
            # Without the table of partitions nothing is worth keeping
            self.folder.close(remove=done or given is None or not (self.folder.path / PARTITIONS).exists())

    def _kernel_part(self) -> KernelPart:
        """The kernel as it was given, before any rows were seen."""
        kernel = self.reducer.kernel
        if isinstance(kernel, str):
            (part,) = parse_kernel(kernel, whose="DeriveRS", mixes=False)
            numbers = {name: getattr(self.reducer, name) for name in ("gamma", "coef0", "degree")} | part.numbers
        else:
            numbers = {name: getattr(kernel, name) for name in ("gamma", "coef0", "degree")}
            part = KernelPart(kernel.name if kernel.norm is None else f"gaussian_{kernel.norm.name}")
        if part.name == PRECOMPUTED or GAUSSIANS.get(part.name):
            raise InputError(f"the kernel {part.name} needs all rows in memory: scale the columns and use rbf")
        return KernelPart("rbf" if part.name in GAUSSIANS else part.name, numbers)

    def _identity(self) -> dict:
        """What decides the result; rows from Python have no name by which they could be known again."""
        parameters = {name: getattr(self.reducer, name) for name in ("epsilon", "P", "V", "first_level")}
        schema = self.blocks.schema and self.blocks.schema.to_json()
        source = [self.blocks.fingerprint or uuid4().hex, self.blocks.n_features, schema]
        kernel = [self.part.name, self.part.numbers]
        return {"version": svmreduce.__version__, "source": source, "scale": self.scale, "kernel": kernel, **parameters}

    def _first_pass(self) -> dict:
        """Scaling, gamma, and for FLS2 where to cut; nothing is read if all of it is known."""
        fls2 = self.reducer.first_level == "fls2" and self.reducer.epsilon > 0
        numbers = dict(self.part.numbers)
        if numbers["gamma"] == "auto" or self.part.name == "linear":
            numbers["gamma"] = 1.0 if self.part.name == "linear" else 1.0 / self.blocks.n_features
        must_learn = isinstance(numbers["gamma"], str)
        found = None
        if fls2 or must_learn or self.scale:
            start = perf_counter()
            per_row = SPARSE_ROW if self.blocks.is_sparse else 8 * self.blocks.n_features
            sample = BlockSample(rows=min(SAMPLE_ROWS, max(LEAST_SAMPLE, SAMPLE_BYTES // per_row))) if fls2 else None
            with self.means.bar("scanning", self.blocks.n_rows) as bar:
                reading = Reading(self.blocks, bar.update)
                found = scan(reading, scale=self.scale, spread=must_learn, sample=sample)
            self.seconds |= {"read": reading.seconds, "scan": perf_counter() - start - reading.seconds}
        if not must_learn:
            numbers["gamma"] = float(numbers["gamma"])
        else:
            numbers["gamma"] = found.spread.gamma(numbers["gamma"], found.scaler, self.part.name)
        kernel = KernelSpec(self.part.name, **numbers)
        plan = {
            "kernel": {"name": kernel.name, **numbers},
            "scaler": found and found.scaler and found.scaler.to_json(),
            "bytes": found and found.bytes,
            "edges": cut_points(found, kernel, self.reducer.P) if fls2 else None,
        }
        self.folder.write_json(PLAN, plan)
        return plan

    def _table(self, plan: dict) -> Table:
        """The rows, scattered into partitions."""
        content = self.folder.read_json(PARTITIONS)
        if content is None:
            files = RowFiles(self.folder.path, self.blocks.n_features, self.blocks.is_sparse)
            files.remove()  # what a killed run left
            try:
                content = self._scatter(plan, files)
            except BaseException:
                files.remove()
                raise
            self.folder.write_json(PARTITIONS, content)
        return Table(self.folder.path, content)

    def _scatter(self, plan: dict, files: RowFiles) -> dict:
        start = perf_counter()
        with self.means.bar("cutting", self.blocks.n_rows) as bar:
            reading = Reading(self.blocks, bar.update)
            found = scatter(reading, plan, files, self.folder.check_space)
        self.seconds["read"] = self.seconds.get("read", 0.0) + reading.seconds
        self.seconds["partition"] = perf_counter() - start - reading.seconds
        sections = [section for written in found.pop("written") for section in self._sections(*written)]
        shape = {"width": files.width, "is_sparse": files.is_sparse}
        return {**shape, "kernel": plan["kernel"], "V": self.reducer.V, "epsilon": self.reducer.epsilon, **found,
                "sections": sections}  # fmt: skip

    def _sections(self, code: int, name: str, rows: int) -> list[tuple]:
        """FLS1 cuts after every P rows; a part of FLS2 that has become too large is cut into equal ones."""
        step = self.reducer.P
        if self.reducer.first_level == "fls2" and rows > step:
            step = -(-rows // -(-rows // step))
        return [(code, name, start, min(rows, start + step)) for start in range(0, rows, step)]

    def _derive(self, table: Table) -> None:
        start, threads = perf_counter(), resolve_threads(self.reducer.threads)
        todo = sum(section.stop - section.start for section in table.missing())
        with self.means.bar("deriving", todo) as bar:
            if self.means.engine == "dask":
                derive_in_cluster(table, self.means.scheduler, threads, bar.update)
            else:
                derive_here(table, threads, bar.update)
        self.seconds["derive"] = perf_counter() - start

    def _together(self, table: Table, plan: dict) -> BlockReduction:
        """What all partitions keep, in the order of the source."""
        content, held = table.content, 0
        parts, codes, worst, cells = [], [], 0.0, 0
        for section, X, arrays in table.results():
            held += row_bytes(X) * X.shape[0]
            if held > self.means.memory_bytes:
                raise InputError(f"{self.blocks.name}: the kept rows alone need more than --memory allows: give a "
                                 f"larger epsilon than {self.reducer.epsilon:g}, or more by --memory")  # fmt: skip
            parts.append((X, arrays["beta"], arrays["numbers"]))
            codes.append(np.full(X.shape[0], section.code))
            worst, cells = max(worst, float(arrays["facts"][0])), cells + int(arrays["facts"][1])
        numbers = np.concatenate([part[2] for part in parts])
        order = np.argsort(numbers)
        join = sparse.vstack if table.files.is_sparse else np.concatenate
        X = join([part[0] for part in parts])
        X, weights = (X.tocsr() if table.files.is_sparse else X)[order], np.concatenate([p[1] for p in parts])[order]
        codes, numbers = np.concatenate(codes)[order], numbers[order]
        if self.reducer.epsilon == 0:  # equal rows of different partitions
            kept = distinct(X, weights, codes)
            X, codes, numbers, weights = X[kept.kept], codes[kept.kept], numbers[kept.kept], kept.beta
        kernel = self.reducer.kernel_ = table.kernel
        info = {"kept": len(codes), "rows": sum(content["counts"]), "cells": cells, "partitions": len(table.sections)}
        info |= {"residual_max": worst, "seconds": self.seconds}
        reduction = Reduction(X, np.array(content["labels"])[codes], weights, numbers, info)
        counts = dict(zip(content["labels"], content["counts"], strict=True))
        scaler = plan["scaler"] and Scaler.from_json(plan["scaler"])
        return BlockReduction(reduction, scaler, counts, kernel)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
