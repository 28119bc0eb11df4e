"""A reduction of blocks: as in memory, but the rows stay on the disk."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from svmreduce.checks import check_parameters
from svmreduce.errors import InputError
from svmreduce.outofcore.block_sample import BlockSample
from svmreduce.outofcore.derivation import Derivation
from svmreduce.outofcore.means import BlockReduction, Means
from svmreduce.outofcore.scanning import Reading, ordered, scan
from svmreduce.reducers.base import BaseReducer
from svmreduce.reducers.derive_rs import DeriveRS
from svmreduce.reducers.random import RandomSample
from svmreduce.types import Reduction


def reduces_blocks(reducer: object) -> bool:
    """Whether ``reduce_blocks`` takes it."""
    return isinstance(reducer, DeriveRS | RandomSample)


def reduce_blocks(reducer: BaseReducer, blocks, *, scale: str | None = None, gamma=None, **means) -> BlockReduction:
    """Reduce rows that come in blocks.

    Parameters
    ----------
    reducer : DeriveRS or RandomSample
    blocks : Blocks
    scale : str, optional
        A name in ``SCALERS``, learned from all rows.
    gamma : float or str, optional
        Of the solver that follows; for a word the spread of all columns is learned, too.
    means : see ``Means``
    """
    check_parameters(reducer)
    means = Means(**means)
    if isinstance(reducer, DeriveRS):
        return Derivation(reducer, blocks, scale, means).run()
    if isinstance(reducer, RandomSample):
        return _sampled(reducer, blocks, scale, gamma, means)
    raise InputError(f"{type(reducer).__name__} needs all rows in memory: use derive_rs or random, or fewer rows")


def _sampled(reducer: RandomSample, blocks, scale, gamma, means: Means) -> BlockReduction:
    """One pass: a random sample of every class."""
    size = {"share": reducer.share} if reducer.rows is None else {"rows": reducer.rows}
    if not isinstance(reducer.random_state, int | np.integer | None):
        raise InputError("random_state must be a number or None for rows in blocks")
    sample = BlockSample(**size, seed=reducer.random_state, most_bytes=means.memory_bytes)
    start = perf_counter()
    with means.bar("sampling", blocks.n_rows) as bar:
        reading = Reading(blocks, bar.update)
        found = scan(reading, scale=scale, spread=gamma in ("scale", "auto-distance"), sample=sample)
    if reducer.rows is not None and reducer.rows > found.rows:
        raise InputError(f"rows must be between 1 and the {found.rows} rows there are, got {reducer.rows}")
    X, codes, numbers = sample.rows_kept()
    counts = np.array(found.classes.counts)
    weights = (counts / np.bincount(codes))[codes] if reducer.weighted else np.ones(len(codes))
    seconds = {"read": reading.seconds, "sample": perf_counter() - start - reading.seconds}
    reduction = Reduction(ordered(found, X), found.classes.labels[codes], weights, numbers,
                          {"kept": len(codes), "rows": found.rows, "seconds": seconds})  # fmt: skip
    by_label = dict(zip(found.classes.codes, counts.tolist(), strict=True))
    return BlockReduction(reduction, found.scaler, by_label, None, found.spread)
