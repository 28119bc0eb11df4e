"""Numbers that several threads read and write at once, elements of an int64 array.

What a thread wrote before ``add`` is there for those who see the new number.
"""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable


def _at(operation):
    """An intrinsic on ``array[place]`` and a value: ``operation(builder, pointer, value)``."""

    @intrinsic
    def call(typing, array, place, value):
        def generate(context, builder, signature, args):
            kind = signature.args[0]
            data = context.make_array(kind)(context, builder, args[0])
            pointer = cgutils.get_item_pointer(context, builder, kind, data, [args[1]])
            return operation(builder, pointer, args[2])

        return types.int64(array, types.int64, types.int64), generate

    return call


add = _at(lambda builder, pointer, value: builder.atomic_rmw("add", pointer, value, "acq_rel"))  # the number before
_load = _at(lambda builder, pointer, value: builder.load_atomic(pointer, "acquire", 8))


def _stored(builder, pointer, value):
    builder.store_atomic(value, pointer, "release", 8)
    return value


put = _at(_stored)  # costs less than ``add``, for numbers that only one thread writes


@register_jitable
def look(array, place):
    """The number as it is now: a plain load may be moved out of a loop."""
    return _load(array, place, 0)
