"""Arrays that begin with a cache line: a vector that is in two lines takes twice as long to read."""

from __future__ import annotations

import math

import numpy as np

LINE = 64  # bytes


def in_lines(shape, dtype, make=np.empty):
    """``make(shape, dtype)``, at the begin of a line. Rows begin with one, too, if they are whole lines."""
    count, itemsize = math.prod(shape) if isinstance(shape, tuple) else shape, np.dtype(dtype).itemsize
    room = make(count + LINE // itemsize, dtype)
    begin = -room.ctypes.data // itemsize % (LINE // itemsize)
    return room[begin : begin + count].reshape(shape)
