"""Rows that do not fit into memory: blocks in, few rows with weights or the SVMs of clusters out."""

from svmreduce.outofcore.block_reduction import reduce_blocks, reduces_blocks
from svmreduce.outofcore.means import BlockReduction, Means

__all__ = ["BlockReduction", "Means", "reduce_blocks", "reduces_blocks"]
