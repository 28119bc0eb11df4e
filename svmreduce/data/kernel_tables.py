"""Tables of kernel values in LIBSVM's text: ``label 0:number 1:value 2:value …``, for ``-t 4``.

Every row has its kernel values with all training rows. Its own number among them stands under the index 0; rows to be
predicted may have any number there.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from svmreduce.data.files import read_bytes
from svmreduce.data.libsvm_text import parse_libsvm, to_csr
from svmreduce.errors import InputError
from svmreduce.types import Dataset

_NUMBER = re.compile(rb"^([ \t]*\S+)[ \t]+0:(\d+)\b", re.MULTILINE)


def read_kernel_table(path) -> tuple[Dataset, np.ndarray]:
    """Kernel values and labels, and every row's number."""
    text = read_bytes(path)
    numbers = np.array([int(found[1]) for found in _NUMBER.findall(text)], np.int64)
    X, y = to_csr(parse_libsvm(_NUMBER.sub(rb"\1", text), str(path)), None)
    if len(numbers) != len(y):
        raise InputError(f"{path}: rows of a precomputed kernel begin with 'label 0:number', but {len(numbers)} "
                         f"of {len(y)} do; for ordinary rows give another kernel (-t 0 to 3)")  # fmt: skip
    return Dataset(X.toarray(), y, str(path)), numbers


def square_table(data: Dataset, numbers: np.ndarray, path) -> Dataset:
    """The values of training rows with each other, in the order of the rows."""
    width = data.X.shape[1]
    if len(np.unique(numbers)) < len(numbers) or numbers.min() < 1 or numbers.max() > width:
        raise InputError(f"{path}: training rows must have different numbers from 1 to {width}, the values of a row")
    return replace(data, X=np.ascontiguousarray(data.X[:, numbers - 1]))
