"""The two passes of a pair step over all members: written as vector instructions, one pass each.

The compiler makes vectors only of loops that write one array; these write three, and read each number once. Members
come ``TOGETHER`` at a time, in one vector of 512 bits or two of 256. So arrays are padded: with any finite numbers in
rows of the block, and in ``state`` with members that may go nowhere.

The *block* holds K of the members among themselves, in float32. *state* holds four arrays one after the other, each
``size`` long: q = Kd of the last direction d; v of those that may go up, −``BARRED`` for others; v of those that may go
down, ``BARRED`` for others; and half of K's diagonal.

Places are told by the low bits of numbers that are compared: ``tags``, a power of two, says how many there are.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from svmreduce.core.registers import Code, number

TOGETHER = 16  # members
BARRED = np.float32(1e30)
TAU = 1e-12  # curvature below this is taken as this: kernels need not be positive definite
# Of the least of the diagonal: added to q and taken off again, so that what is smaller is rounded away. Denormal
# numbers are slow; the square of what is left is none either.
NOTHING = 2.0**-39
AHEAD = 1024  # numbers: rows of large blocks come from memory, and are asked for this early; or a quarter of a row
LEAST_CURVATURE = 0.05  # of the pair's own: where the last direction leaves less, rounding would decide


class _Scan(Code):
    """Instructions on float32 vectors that end in the largest or least number of an array."""

    flags = ("nnan", "ninf", "nsz", "reassoc", "contract")

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.of(self.memory(0), TOGETHER)
        self.words = ir.VectorType(ir.IntType(32), TOGETHER)
        tags = self.builder.trunc(self.args[-1], ir.IntType(32))  # the last argument of both passes
        self.rest = self.everywhere(self.builder.neg(tags))

    def word(self, x):
        return ir.Constant(self.words, [x] * TOGETHER)

    def product_plus(self, a, b, c):
        return self.call("fmuladd", a, b, c)

    def larger(self, a, b):
        return self.call("maxnum", a, b)

    def smaller(self, a, b):
        return self.call("minnum", a, b)

    def tagged(self, x, places):
        """x ≥ 0 with its place in the last bits; ``vector.tag_of`` reads it."""
        high = self.builder.and_(self.builder.bitcast(x, self.words), self.rest)
        return self.builder.bitcast(self.builder.or_(high, places), self.vector)

    def early(self, size):
        """How far ahead the numbers of a row are asked for."""
        quarter, most = self.builder.lshr(size, number(2)), number(AHEAD)
        return self.builder.select(self.builder.icmp_unsigned("<", quarter, most), quarter, most)

    def ask_for(self, pointer, offset, ahead):
        """The row's numbers that are ``ahead`` of these will be wanted soon."""
        place = self.at(pointer, self.builder.add(offset, ahead))
        place, word = self.builder.bitcast(place, ir.IntType(8).as_pointer()), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, word, word, word])
        function = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")
        self.builder.call(function, [place, word(0), word(3), word(1)])  # for reading, into all caches, data

    def reciprocal(self, x):
        """1/x of x > 0 within 0.3 %, for comparisons: a division would take most of their time.

        The difference of the bits is within 6 %, and one step of Newton's method squares that.
        """
        r = self.builder.sub(self.word(0x7EF311C7), self.builder.bitcast(x, self.words))
        r = self.builder.bitcast(r, self.vector)
        return self.builder.fmul(r, self.product_plus(self.builder.fneg(x), r, self.number(2)))

    def over(self, begin, end, first, body):
        """``body(offset, places, values) -> values`` for vector after vector, from the ``first`` values."""
        builder, before = self.builder, self.builder.block
        places = self.everywhere(builder.trunc(begin, ir.IntType(32)))
        places = builder.add(places, ir.Constant(self.words, list(range(TOGETHER))))
        start = [begin, places, *first]
        again, after = builder.append_basic_block("vectors"), builder.append_basic_block("done")
        builder.branch(again)
        builder.position_at_end(again)
        now = [builder.phi(one.type) for one in start]
        offset, places, *values = now
        values = body(offset, places, values)
        offset = builder.add(offset, number(TOGETHER))
        following = [offset, builder.add(places, self.word(TOGETHER)), *values]
        for phi, one, other in zip(now, start, following, strict=True):
            phi.add_incoming(one, before)
            phi.add_incoming(other, again)
        builder.cbranch(builder.icmp_unsigned("<", offset, end), again, after)
        builder.position_at_end(after)
        return values


@intrinsic
def step_and_scan(typing, block, row_i, row_j, share, step, state, size, begin, end, floor, nothing, tags):
    """q = K_i − K_j + share·q and v −= step·q; then the tagged member that wants up most, and the smallest v.

    For the members from ``begin`` to ``end``, at least one vector of them.

    Parameters
    ----------
    block : flat; row_i and row_j say where the rows of the pair begin
    floor : only members with v above it want up
    nothing : added to q and taken off again
    """

    def generate(context, builder, signature, args):
        scan = _Scan(context, builder, signature, args)
        row_i, row_j = (scan.at(scan.memory(0), args[position]) for position in (1, 2))
        share, step, floor = scan.everywhere(args[3]), scan.everywhere(builder.fneg(args[4])), scan.everywhere(args[9])
        nothing = scan.everywhere(args[10])
        q = scan.memory(5)
        up = scan.at(q, args[6])
        down = scan.at(up, args[6])
        ahead = scan.early(args[6])

        def body(offset, places, values):
            best, least = values
            scan.ask_for(row_j, offset, ahead)
            change = builder.fsub(scan.load(row_i, offset), scan.load(row_j, offset))
            change = scan.product_plus(share, scan.load(q, offset), change)
            change = builder.fsub(builder.fadd(change, nothing), nothing)
            scan.store(change, q, offset)
            higher = scan.product_plus(step, change, scan.load(up, offset))
            scan.store(higher, up, offset)
            lower = scan.product_plus(step, change, scan.load(down, offset))
            scan.store(lower, down, offset)
            wish = scan.tagged(builder.fsub(higher, floor), places)
            return [scan.larger(wish, best), scan.smaller(lower, least)]

        best, least = scan.over(args[7], args[8], [scan.number(0), scan.number(BARRED)], body)
        found = [
            scan.call("vector.reduce.fmax", best, returns=scan.element),
            scan.call("vector.reduce.fmin", least, returns=scan.element),
        ]
        return context.make_tuple(builder, signature.return_type, found)

    real, whole = types.float32, types.int64
    arguments = block, whole, whole, real, real, state, whole, whole, whole, real, real, whole
    return types.UniTuple(real, 2)(*arguments), generate


@intrinsic
def partner(typing, block, row_i, state, size, begin, end, v_i, q_i, half_i, inverse, tags):
    """The tagged member that may go down and gains most with member i, to second order, given the last direction.

    Of those from ``begin`` to ``end``.

    ``inverse`` is 1/(2·dᵀKd), or zero where there is no last direction.
    """

    def generate(context, builder, signature, args):
        scan = _Scan(context, builder, signature, args)
        row_i, q = scan.at(scan.memory(0), args[1]), scan.memory(2)
        down, half = (scan.at(q, builder.mul(args[3], number(array))) for array in (2, 3))
        v_i, q_i, half_i = (scan.everywhere(args[position]) for position in (6, 7, 8))
        inverse = scan.everywhere(builder.fneg(args[9]))
        ahead = scan.early(args[3])

        def body(offset, places, values):
            scan.ask_for(row_i, offset, ahead)
            drop = scan.larger(builder.fsub(v_i, scan.load(down, offset)), scan.number(0))
            along = builder.fsub(q_i, scan.load(q, offset))
            plain = builder.fsub(builder.fadd(scan.load(half, offset), half_i), scan.load(row_i, offset))
            curvature = scan.product_plus(builder.fmul(along, along), inverse, plain)
            curvature = scan.larger(curvature, builder.fmul(plain, scan.number(LEAST_CURVATURE)))
            curvature = scan.larger(curvature, scan.number(TAU))
            gain = builder.fmul(builder.fmul(drop, drop), scan.reciprocal(curvature))
            return [scan.larger(scan.tagged(gain, places), values[0])]

        (best,) = scan.over(args[4], args[5], [scan.number(0)], body)
        return scan.call("vector.reduce.fmax", best, returns=scan.element)

    real, whole = types.float32, types.int64
    return real(block, whole, state, whole, whole, whole, real, real, real, real, whole), generate
