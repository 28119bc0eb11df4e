"""Work on rows that stay on the disk: the steps that DeriveRS and divide and conquer share.

A first pass over the blocks learns a plan (scaling, gamma, where to cut), a second one scatters the rows into files,
every section of these files is a task of its own, and the results of all tasks are put together.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import ClassVar
from uuid import uuid4

import svmreduce
from svmreduce.core.threads import resolve_threads
from svmreduce.errors import InputError
from svmreduce.kernels import GAUSSIANS, PRECOMPUTED, KernelPart, KernelSpec, parse_kernel
from svmreduce.outofcore.block_sample import BlockSample
from svmreduce.outofcore.means import Means
from svmreduce.outofcore.partition_tasks import PARTITIONS, Table, work_here, work_in_cluster
from svmreduce.outofcore.row_files import RowFiles
from svmreduce.outofcore.scanning import Reading, Scan, scan
from svmreduce.outofcore.scattering import Parts, scatter
from svmreduce.outofcore.work_folder import WorkFolder, disk_error
from svmreduce.paths import cache_home

PLAN = "plan.json"
_SPARSE_ROW = 2000  # bytes, a guess


@dataclass
class FirstPass:
    """What is learned from all rows before anything is made of them."""

    method: object  # a reducer or a solver
    blocks: object
    scale: str | None
    means: Means
    seconds: dict = field(default_factory=dict)

    def __post_init__(self):
        self.scale = None if self.scale == "none" else self.scale
        self.part = self._kernel_part()

    def _kernel_part(self) -> KernelPart:
        """The kernel as it was given, before any rows were seen."""
        kernel, whose = self.method.kernel, type(self.method).__name__
        if isinstance(kernel, str):
            (part,) = parse_kernel(kernel, whose=f"{whose} on rows in blocks", mixes=False)
            numbers = {name: getattr(self.method, name) for name in ("gamma", "coef0", "degree")} | part.numbers
        elif kernel.is_mixture:
            raise InputError(f"{whose} on rows in blocks takes one kernel, not a mixture")
        else:
            numbers = {name: getattr(kernel, name) for name in ("gamma", "coef0", "degree")}
            part = KernelPart(kernel.name if kernel.norm is None else f"gaussian_{kernel.norm.name}")
        if part.name == PRECOMPUTED or GAUSSIANS.get(part.name):
            raise InputError(f"the kernel {part.name} needs all rows in memory: scale the columns and use rbf")
        return KernelPart("rbf" if part.name in GAUSSIANS else part.name, numbers)

    def _row_bytes(self) -> int:
        """Bytes of a row in memory, before any was seen."""
        return _SPARSE_ROW if self.blocks.is_sparse else 8 * self.blocks.n_features

    def _learned(self, sample: BlockSample | None) -> tuple[Scan | None, KernelSpec, dict]:
        """What all rows tell (nothing is read if all of it is known), the kernel, and both as the plan has them."""
        numbers = dict(self.part.numbers)
        if numbers["gamma"] == "auto" or self.part.name == "linear":
            numbers["gamma"] = 1.0 if self.part.name == "linear" else 1.0 / self.blocks.n_features
        must_learn, found = isinstance(numbers["gamma"], str), None
        if sample is not None or must_learn or self.scale:
            start = perf_counter()
            with self.means.bar("scanning", self.blocks.n_rows) as bar:
                reading = Reading(self.blocks, bar.update)
                found = scan(reading, scale=self.scale, spread=must_learn, sample=sample)
            self.seconds |= {"read": reading.seconds, "scan": perf_counter() - start - reading.seconds}
        if not must_learn:
            numbers["gamma"] = float(numbers["gamma"])
        else:
            numbers["gamma"] = found.spread.gamma(numbers["gamma"], found.scaler, self.part.name)
        scaler = found and found.scaler and found.scaler.to_json()
        plan = {"kernel": {"name": self.part.name, **numbers}, "scaler": scaler, "bytes": found and found.bytes,
                "rows": found and found.rows}  # fmt: skip
        return found, KernelSpec(self.part.name, **numbers), plan

    def _took(self, stage: str, seconds: float) -> None:
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds


class BlockWork(FirstPass, ABC):
    """The steps, one after the other; each is skipped if the work folder has its result."""

    decisive: ClassVar[tuple[str, ...]] = ()  # parameters of the method, besides the kernel's, that decide the result
    doing: ClassVar[str] = "working"  # what the tasks do, and the name of their seconds
    stage: ClassVar[str] = "work"

    def run(self):
        given = self.means.work
        folder = Path(tempfile.mkdtemp(prefix="work-", dir=_made(cache_home()))) if given is None else Path(given)
        self.folder = WorkFolder(folder, self._identity())
        done = False
        try:
            plan = self.folder.read_json(PLAN)
            if plan is None:
                plan = self._first_pass()
                self.folder.write_json(PLAN, plan)
            table = self._table(plan)
            self._do_tasks(table)
            result = self._together(table, plan)
            done = True
            return result
        except OSError as error:
            raise disk_error(self.folder.path, error) from None
        finally:
            # Without the table of partitions nothing is worth keeping
            self.folder.close(remove=done or given is None or not (self.folder.path / PARTITIONS).exists())

    @abstractmethod
    def _first_pass(self) -> dict:
        """What is learned before any row is written; it has at least what ``_learned`` gives."""

    @abstractmethod
    def _scatter(self, plan: dict, files: RowFiles) -> dict:
        """Write all rows; the content of the table, but for what ``_table`` adds."""

    @abstractmethod
    def _together(self, table: Table, plan: dict):
        """The results of all tasks as one."""

    def _identity(self) -> dict:
        """What decides the result; rows from Python have no name by which they could be known again."""
        parameters = {name: getattr(self.method, name) for name in self.decisive}
        schema = self.blocks.schema and self.blocks.schema.to_json()
        source = [self.blocks.fingerprint or uuid4().hex, self.blocks.n_features, schema]
        kernel = [self.part.name, self.part.numbers]
        return {"version": svmreduce.__version__, "source": source, "scale": self.scale, "kernel": kernel, **parameters}

    def _table(self, plan: dict) -> Table:
        """The rows, scattered into files, and the sections of these files."""
        content = self.folder.read_json(PARTITIONS)
        if content is None:
            files = RowFiles(self.folder.path, self.blocks.n_features, self.blocks.is_sparse)
            files.remove()  # what a killed run left
            try:
                content = self._scatter(plan, files)
            except BaseException:
                files.remove()
                raise
            content |= {"kernel": plan["kernel"], "width": files.width, "is_sparse": files.is_sparse}
            self.folder.write_json(PARTITIONS, content)
        return Table(self.folder.path, content)

    def _cut(self, plan: dict, files: RowFiles, parts: Parts) -> dict:
        """One pass that writes all rows; see ``scatter``."""
        start = perf_counter()
        with self.means.bar("cutting", self.blocks.n_rows) as bar:
            reading = Reading(self.blocks, bar.update)
            found = scatter(reading, plan, files, parts, self.folder.check_space)
        self._took("read", reading.seconds)
        self._took("partition", perf_counter() - start - reading.seconds)
        return found

    def _do_tasks(self, table: Table) -> None:
        start, threads = perf_counter(), self._threads(table)
        todo = sum(section.stop - section.start for section in table.missing())
        with self.means.bar(self.doing, todo) as bar:
            if self.means.engine == "dask":
                work_in_cluster(table, self.means.scheduler, threads, bar.update)
            else:
                work_here(table, threads, bar.update)
        self.seconds[self.stage] = perf_counter() - start

    def _threads(self, table: Table) -> int:
        return resolve_threads(self.method.threads)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
