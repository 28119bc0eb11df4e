"""Where tasks run: worker processes here, or those of a dask cluster. Both give the same records.

An engine is an executor (``submit`` returns a future of the worker's answer) with a number of slots. The hard
limits are the same code on both: each cluster worker has its own child process under them.
"""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from svmreduce.cluster import connected, lost
from svmreduce.experiments.worker_process import WorkerProcess


class LocalEngine:
    """A number of worker processes on this machine."""

    name = "local"

    def __init__(self, jobs: int, threads: int):
        self.slots = jobs
        self._threads = threads
        self._own = threading.local()
        self._workers: list[WorkerProcess] = []
        self._executor = ThreadPoolExecutor(jobs, thread_name_prefix="svmreduce-job")

    def submit(self, message: dict, seconds: float, memory_mb: float | None) -> Future:
        return self._executor.submit(self._call, message, seconds, memory_mb)

    def _call(self, message, seconds, memory_mb) -> dict:
        if not hasattr(self._own, "worker"):
            self._own.worker = WorkerProcess(self._threads)
            self._workers.append(self._own.worker)
        return self._own.worker.call(message, seconds, memory_mb)

    def close(self) -> None:
        for worker in self._workers:
            worker.close()
        self._executor.shutdown(wait=True, cancel_futures=True)


class DaskEngine:
    """The workers of a dask cluster; a task whose worker is lost goes to another one."""

    name = "dask"

    def __init__(self, scheduler: str | None, jobs: int, threads: int):
        self._threads = threads
        self._open = ExitStack()
        self._client = self._open.enter_context(connected(scheduler, jobs))
        self._executor: Executor = self._client.get_executor(pure=False, retries=2)

    @property
    def slots(self) -> int:
        """How many workers there are now; the cluster may grow and shrink during a run."""
        try:
            return max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))
        except (KeyError, OSError) as error:
            raise lost(error) from None

    def submit(self, message: dict, seconds: float, memory_mb: float | None) -> Future:
        return self._executor.submit(_call_in_cluster, self._threads, message, seconds, memory_mb)

    def close(self) -> None:
        self._executor.shutdown(wait=False)
        self._open.close()


_cluster_workers: dict[int, WorkerProcess] = {}  # by thread count, which is fixed when a worker starts
_one_at_a_time = threading.Lock()  # timings of two fits in one worker would disturb each other


def _call_in_cluster(threads: int, message: dict, seconds: float, memory_mb: float | None) -> dict:
    with _one_at_a_time:
        for other in set(_cluster_workers) - {threads}:
            _cluster_workers.pop(other).close()
        return _cluster_workers.setdefault(threads, WorkerProcess(threads)).call(message, seconds, memory_mb)


@contextmanager
def open_engine(name: str, *, jobs: int, threads: int, scheduler: str | None = None):
    """The named engine; its workers end with the block, whatever happens."""
    engine = DaskEngine(scheduler, jobs, threads) if name == "dask" else LocalEngine(jobs, threads)
    try:
        yield engine
    finally:
        engine.close()
