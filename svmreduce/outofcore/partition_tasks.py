"""The partitions of a work folder: a task each, on threads here or on the workers of a dask cluster.

A task reads its rows from the folder and writes its result there, so only names travel. A result that is there already
is not made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from scipy import sparse

from svmreduce.core.kernel_values import single_threaded_blas
from svmreduce.core.threads import in_threads
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.outofcore.row_files import RowFiles
from svmreduce.outofcore.section_tasks import TASKS
from svmreduce.outofcore.work_folder import disk_error, load_arrays, save_arrays
from svmreduce.types import Matrix

PARTITIONS = "partitions.json"
RETRIES = 3  # of a partition whose worker was lost


class Section(NamedTuple):
    """Some rows of a file of rows, of one class or of one cluster: a partition."""

    code: int
    name: str
    start: int
    stop: int

    @property
    def result(self) -> str:
        return f"{self.name}-{self.start}.npz"


class Table:
    """What every task must know: where rows are, what is to be made of them, and the sections."""

    def __init__(self, folder: Path, content: dict):
        self.folder, self.content = folder, content
        self.kernel = KernelSpec(**content["kernel"])
        self.files = RowFiles(folder, content["width"], content["is_sparse"])
        self.sections = [Section(*section) for section in content["sections"]]
        self.task = TASKS[content["task"]](content, self.kernel)

    def missing(self) -> list[Section]:
        """Sections without a result, the largest first, so that none ends much later than the others."""
        left = [section for section in self.sections if not (self.folder / section.result).exists()]
        return sorted(left, key=lambda section: section.start - section.stop)

    def make(self, section: Section) -> None:
        """Do one task and write its result: some rows, and arrays."""
        kept, arrays = self.task(*self.files.read(*section[1:]))
        rows = {"data": kept.data, "indices": kept.indices, "indptr": kept.indptr} if self.files.is_sparse else {}
        save_arrays(self.folder / section.result, arrays | (rows or {"rows": kept}))

    def results(self) -> Iterator[tuple[Section, Matrix, dict]]:
        """Every section with the rows and the arrays of its result; a damaged result is made again."""
        for section in self.sections:
            arrays = load_arrays(self.folder / section.result)
            if arrays is None:
                self.make(section)
                arrays = load_arrays(self.folder / section.result)
            if self.files.is_sparse:
                parts = arrays["data"], arrays["indices"], arrays["indptr"]
                yield section, sparse.csr_matrix(parts, shape=(len(parts[2]) - 1, self.files.width)), arrays
            else:
                yield section, arrays["rows"], arrays


def work_here(table: Table, threads: int, tell: Callable[[int], object]) -> None:
    """All sections without a result, on threads."""
    todo = table.missing()

    def work(number: int) -> None:
        table.make(todo[number])
        tell(todo[number].stop - todo[number].start)

    with single_threaded_blas:  # held throughout: tasks that set and restore it cost many times their own time
        in_threads(work, len(todo), threads)


@lru_cache(maxsize=4)
def _table_of(folder: str, written: int) -> Table:
    path = Path(folder, PARTITIONS)
    return Table(path.parent, json.loads(path.read_bytes()))


def make_in_cluster(folder: str, section: Section) -> int:
    """One section on a worker, which finds everything else in the folder."""
    path = Path(folder, PARTITIONS)
    if not path.exists():
        raise InputError(f"{folder}: a worker does not see this folder; give --work a folder that all machines share")
    table = _table_of(folder, path.stat().st_mtime_ns)
    if not (table.folder / section.result).exists():
        with single_threaded_blas:
            table.make(Section(*section))
    return section[3] - section[2]


def work_in_cluster(table: Table, scheduler: str | None, workers: int, tell: Callable[[int], object]) -> None:
    """All sections without a result, as tasks of a dask cluster; what is done stays done if the scheduler is lost."""
    from svmreduce.cluster import connected, lost

    todo = table.missing()
    if not todo:
        return
    with connected(scheduler, workers) as client:
        from distributed import as_completed

        try:
            futures = client.map(
                make_in_cluster, [str(table.folder)] * len(todo), todo, pure=False, retries=RETRIES, batch_size=256
            )
            for future in as_completed(futures):
                tell(future.result())
        except InputError:
            raise
        except OSError as error:
            raise disk_error(table.folder, error) if error.errno else lost(error) from None
        except Exception as error:
            if type(error).__name__ == "KilledWorker":
                raise InputError("workers died at the same partition again and again, most likely for lack of memory: "
                                 "start them with more, or make partitions smaller (lower P, or raise "
                                 "n_clusters); the same command resumes") from None  # fmt: skip
            if type(error).__module__.partition(".")[0] in ("distributed", "asyncio", "concurrent", "tornado"):
                raise lost(error) from None
            raise
    if left := table.missing():
        raise InputError(f"{table.folder}: workers made results that are not here ({left[0].result}): give --work a "
                         "folder that all machines share")  # fmt: skip
