"""``train -t 4`` and ``predict`` on tables of kernel values, in LIBSVM's form."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from svmreduce.errors import InputError


def timed_table(path: str, choices):
    """Kernel values among training rows as a Dataset, their empty preparation, and the seconds to load them.

    Nothing is kept as it was read.
    """
    from svmreduce.data.kernel_tables import read_kernel_table, square_table
    from svmreduce.data.preparation import Choices, Preparation

    if choices != Choices():
        raise InputError(f"{path}: kernel values (-t 4) have no columns to choose or to scale; leave such options out")
    start = perf_counter()
    data = square_table(*read_kernel_table(path), path)
    return data, Preparation(data.n_features), perf_counter() - start, None


def with_numbers(model, path: str):
    """The model with the numbers that its vectors have in the file; so far it counts rows."""
    from svmreduce.data.kernel_tables import read_kernel_table

    _, numbers = read_kernel_table(path)
    return replace(model, vectors=numbers[model.vectors.astype(int) - 1].astype(float))


def table_to_predict(path: str):
    """Kernel values of new rows with training rows, as a model takes them: a number, of no use here, in front."""
    import numpy as np

    from svmreduce.data.kernel_tables import read_kernel_table

    data, numbers = read_kernel_table(path)
    return replace(data, X=np.column_stack([np.zeros(len(numbers)), data.X]))
