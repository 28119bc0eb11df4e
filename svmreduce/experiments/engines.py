"""Where tasks run: worker processes here, or those of a dask cluster. Both give the same records.

An engine is an executor (``submit`` returns a future of the worker's answer) with a number of slots. The hard
limits are the same code on both: each cluster worker has its own child process under them.
"""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager

from svmreduce.errors import InputError
from svmreduce.experiments.limits import Worker

ENGINES = ("local", "dask")


class LocalEngine:
    """So many worker processes on this machine."""

    name = "local"

    def __init__(self, jobs: int, threads: int):
        self.slots = jobs
        self._threads = threads
        self._own = threading.local()
        self._workers: list[Worker] = []
        self._executor = ThreadPoolExecutor(jobs, thread_name_prefix="svmreduce-job")

    def submit(self, message: dict, seconds: float, memory_mb: float | None) -> Future:
        return self._executor.submit(self._call, message, seconds, memory_mb)

    def _call(self, message, seconds, memory_mb) -> dict:
        if not hasattr(self._own, "worker"):
            self._own.worker = Worker(self._threads)
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

    @property
    def slots(self) -> int:
        return max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))

    def submit(self, message: dict, seconds: float, memory_mb: float | None) -> Future:
        return self._executor.submit(_call_in_cluster, self._threads, message, seconds, memory_mb)

    def close(self) -> None:
        self._executor.shutdown(wait=False)
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


_cluster_worker: dict[str, Worker] = {}
_one_at_a_time = threading.Lock()  # timings of two fits in one worker would disturb each other


def _call_in_cluster(threads: int, message: dict, seconds: float, memory_mb: float | None) -> dict:
    with _one_at_a_time:
        worker = _cluster_worker.setdefault("worker", Worker(threads))
        return worker.call(message, seconds, memory_mb)


@contextmanager
def open_engine(name: str, *, jobs: int, threads: int, scheduler: str | None = None):
    """The named engine; its workers end with the block, whatever happens."""
    engine = DaskEngine(scheduler, jobs, threads) if name == "dask" else LocalEngine(jobs, threads)
    try:
        yield engine
    finally:
        engine.close()
