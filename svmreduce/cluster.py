"""A connection to a dask cluster, with every failure in one line."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from svmreduce.errors import InputError

WORKER_PATIENCE = 30  # seconds to wait for the first worker of a cluster


@contextmanager
def connected(scheduler: str | None, workers: int = 1) -> Iterator:
    """A client of the scheduler at this address, or of a new cluster of worker processes on this machine."""
    try:
        import distributed
    except ImportError:
        raise InputError("the dask engine is not installed: pip install 'svmreduce[dask]'") from None
    cluster = client = None
    loggers = [logging.getLogger(f"distributed.{name}") for name in ("client", "nanny")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:  # a lost scheduler is one line of ours, not a traceback of theirs
            logger.setLevel(logging.CRITICAL)
        if scheduler is None:
            cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
            )
        try:
            client = distributed.Client(cluster or scheduler, timeout=20)
        except (OSError, ValueError) as error:
            raise InputError(f"no dask scheduler answers at {scheduler}: {error}") from None
        await_workers(client, scheduler)
        yield client
    finally:
        for part in filter(None, (client, cluster)):
            with suppress(OSError, TimeoutError):  # a scheduler that is gone needs no farewell
                part.close()
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def await_workers(client, scheduler: str | None) -> None:
    """Return when there is a worker; a cluster without any is an error."""
    try:
        client.wait_for_workers(1, timeout=WORKER_PATIENCE)
    except TimeoutError:
        raise InputError(
            f"the dask cluster at {scheduler} has no workers after {WORKER_PATIENCE} s: start some "
            "(dask worker ADDRESS) and run the same command again"
        ) from None
    except OSError as error:
        raise lost(error) from None


def lost(error: Exception) -> InputError:
    return InputError(f"the dask scheduler was lost ({type(error).__name__}): start it again; the same command resumes")
