"""Where tasks run: worker processes here, or those of a dask cluster. Both give the same records.

An engine is an executor (``submit`` returns a future of the worker's answer) with a number of slots. The hard
limits are the same code on both: each cluster worker has its own child process under them.
"""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager

from svmreduce.errors import InputError
from svmreduce.experiments.worker_process import WorkerProcess

WORKER_PATIENCE = 30  # seconds to wait for the first worker of a cluster


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
        try:
            import distributed
        except ImportError:
            raise InputError("the dask engine is not installed: pip install 'svmreduce[dask]'") from None
        self._cluster = None
        self._threads = threads
        if scheduler is None:
            self._cluster = distributed.LocalCluster(
                n_workers=jobs, threads_per_worker=1, processes=True, dashboard_address=None
            )
        try:
            self._client = distributed.Client(self._cluster or scheduler, timeout=20)
        except (OSError, ValueError) as error:
            raise InputError(f"no dask scheduler answers at {scheduler}: {error}") from None
        self._executor: Executor = self._client.get_executor(pure=False, retries=2)

        self._wait_for_workers(scheduler)

    def _wait_for_workers(self, scheduler) -> None:
        try:
            self._client.wait_for_workers(1, timeout=WORKER_PATIENCE)
        except TimeoutError:
            self.close()
            raise InputError(
                f"the dask cluster at {scheduler} has no workers after {WORKER_PATIENCE} s: start some "
                "(dask worker ADDRESS) and run the same command again"
            ) from None
        except OSError as error:
            self.close()
            raise _lost(error) from None

    @property
    def slots(self) -> int:
        """How many workers there are now; the cluster may grow and shrink during a run."""
        try:
            return max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))
        except (KeyError, OSError) as error:
            raise _lost(error) from None

    def submit(self, message: dict, seconds: float, memory_mb: float | None) -> Future:
        return self._executor.submit(_call_in_cluster, self._threads, message, seconds, memory_mb)

    def close(self) -> None:
        self._executor.shutdown(wait=False)
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def _lost(error: Exception) -> InputError:
    return InputError(f"the dask scheduler was lost ({type(error).__name__}): start it again; the same command resumes")


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
