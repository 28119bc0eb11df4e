"""Inner products with the sums in registers: what the compiler does not make of nested loops.

Sums stay in vector registers while one loop runs over the features; BLAS does the same, but copies both sides first and
knows no zeros. Right rows come in *panels*: ``width`` rows side by side, feature by feature, so that one feature of all
of them is a few vectors.

- dense left rows, four at a time, against panels of two vectors: more sums at once were slower;
- a sparse left row against panels of eight vectors: work for its non-zeros only.

A panel of many features is longer than the first-level cache, so sparse rows meet it in parts of ``IN_CACHE`` features.

Every inner product and distance is made feature after feature wherever its rows lie, so it depends on its two rows
alone, to the last bit.
"""

from __future__ import annotations

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

from svmreduce.core.vector import LEAST_32, LEAST_64, LN2, LOG2_E, POWERS_32, POWERS_64

TOGETHER = 4  # dense left rows
_FEATURES = config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
VECTOR_BYTES = 64 if "+avx512f" in _FEATURES else 32
DENSE_PANEL, SPARSE_PANEL = 2, 8  # vectors
IN_CACHE = 128  # features of a sparse panel
SINGLE_SUMS = 8  # panels whose products are added up in single precision, if values are single, before they go to a sum

_I32, _I64 = ir.IntType(32), ir.IntType(64)


def number(value):
    return ir.Constant(_I64, value)


class Code:
    """Instructions on vectors of one type."""

    flags = ()  # what LLVM may assume of numbers

    def __init__(self, context, builder, signature, args):
        self.context, self.builder, self.signature, self.args = context, builder, signature, args

    def memory(self, position):
        array = self.context.make_array(self.signature.args[position])
        return array(self.context, self.builder, self.args[position]).data

    def of(self, pointer, lanes=None):
        """Take the type of the numbers there; returns how many are in a vector."""
        self.element = pointer.type.pointee
        self.bytes = 4 if isinstance(self.element, ir.FloatType) else 8
        lanes = lanes or VECTOR_BYTES // self.bytes
        self.vector = ir.VectorType(self.element, lanes)
        return lanes

    def at(self, pointer, offset):
        return self.builder.gep(pointer, [offset])

    def load(self, pointer, offset):
        place = self.builder.bitcast(self.at(pointer, offset), self.vector.as_pointer())
        return self.builder.load(place, align=self.bytes)

    def store(self, value, pointer, offset):
        place = self.builder.bitcast(self.at(pointer, offset), self.vector.as_pointer())
        self.builder.store(value, place, align=self.bytes)

    def everywhere(self, x):
        """A vector of the same number."""
        none = ir.Constant(ir.VectorType(x.type, self.vector.count), ir.Undefined)
        first = self.builder.insert_element(none, x, ir.Constant(_I32, 0))
        zeros = ir.Constant(ir.VectorType(_I32, self.vector.count), [0] * self.vector.count)
        return self.builder.shuffle_vector(first, none, zeros)

    def variable(self, value=None):
        return cgutils.alloca_once_value(self.builder, ir.Constant(self.vector, None) if value is None else value)

    def add_product(self, a, b, total):
        """total += a·b"""
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        name = f"llvm.fmuladd.v{self.vector.count}f{8 * self.bytes}"
        fused = cgutils.get_or_insert_function(self.builder.module, kind, name)
        self.builder.store(self.builder.call(fused, [a, b, self.builder.load(total)]), total)

    def call(self, name, *arguments, returns=None):
        """An instruction of LLVM on vectors, or from vectors to the type it ``returns``."""
        kind = ir.FunctionType(returns or self.vector, [one.type for one in arguments])
        name = f"llvm.{name}.v{self.vector.count}f{8 * self.bytes}"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, arguments, fastmath=self.flags)

    def number(self, x):
        """A vector of a constant."""
        return ir.Constant(self.vector, [float(x)] * self.vector.count)

    def exp_negative(self, x):
        """exp(x) of x <= 0, as ``vector.exp_negative`` has it. What is not a number stays so."""
        builder, single = self.builder, self.bytes == 4
        least, powers = (LEAST_32, POWERS_32) if single else (LEAST_64, POWERS_64)
        least = self.number(least)
        x = builder.select(builder.fcmp_ordered(">", least, x), least, x)
        t = builder.fmul(x, self.number(LOG2_E))
        n = self.call("rint", t)
        if single:
            f = builder.fsub(t, n)
        else:
            f = self.call("fma", builder.fneg(n), self.number(LN2[0]), x)
            f = self.call("fma", builder.fneg(n), self.number(LN2[1]), f)
        p = self.number(powers[0])
        for power in powers[1:]:
            p = self.call("fma", p, f, self.number(power))
        word = ir.IntType(8 * self.bytes)
        words = ir.VectorType(word, self.vector.count)
        exponent = builder.fptosi(n, ir.VectorType(_I32, self.vector.count))
        exponent = exponent if single else builder.sext(exponent, words)
        exponent = builder.shl(exponent, ir.Constant(words, [23 if single else 52] * self.vector.count))
        return builder.bitcast(builder.add(builder.bitcast(p, words), exponent), self.vector)

    def total(self, x):
        """The sum of a vector's numbers, in double."""
        wide = ir.VectorType(ir.DoubleType(), self.vector.count)
        x = self.builder.fpext(x, wide) if self.bytes == 4 else x
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType(), wide])
        name = f"llvm.vector.reduce.fadd.v{self.vector.count}f64"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, [ir.Constant(ir.DoubleType(), 0.0), x], fastmath=("reassoc",))


def _dense_sums(of_differences: bool, taken_off: bool = False, radial: bool = False):
    @intrinsic
    def sums(typing, X, starts, d, T, base, A, at, stride, factor):
        def generate(context, builder, signature, args):
            code = Code(context, builder, signature, args)
            x, first, t, a = (code.memory(position) for position in (0, 1, 3, 5))
            lanes = code.of(x)
            rows = [code.at(x, builder.load(code.at(first, number(r)))) for r in range(TOGETHER)]
            totals = [[code.variable() for _ in range(DENSE_PANEL)] for _ in rows]
            panel, factor = code.at(t, args[4]), code.everywhere(args[8])
            with cgutils.for_range(builder, args[2]) as loop:
                feature = code.at(panel, builder.mul(loop.index, number(DENSE_PANEL * lanes)))
                right = [code.load(feature, number(c * lanes)) for c in range(DENSE_PANEL)]
                for row, sums_of_row in zip(rows, totals, strict=True):
                    value = code.everywhere(builder.load(code.at(row, loop.index)))
                    for other, total in zip(right, sums_of_row, strict=True):
                        u = builder.fsub(value, other) if of_differences else value
                        code.add_product(u, u if of_differences else other, total)
            for r, sums_of_row in enumerate(totals):
                out = code.at(a, builder.add(args[6], builder.mul(args[7], number(r))))
                for c, total in enumerate(sums_of_row):
                    value = builder.load(total)
                    if taken_off:
                        half = builder.fmul(value, code.number(0.5))
                        value = builder.fsub(code.load(out, number(c * lanes)), half)
                    if radial:
                        value = code.exp_negative(builder.fmul(factor, value))
                    code.store(value, out, number(c * lanes))
            return context.get_dummy_value()

        whole = types.int64
        return types.void(X, starts, whole, T, whole, A, whole, whole, factor), generate

    return sums


dense_products = _dense_sums(of_differences=False)
"""A[at + r·stride + c] = Σ_f X[starts[r] + f]·T[base + f·width + c] for r up to ``TOGETHER``, f up to d, and columns c
of a panel. Arrays are flat."""

dense_distances = _dense_sums(of_differences=True)
"""The same with squares of differences in place of products."""

take_off_distances = _dense_sums(of_differences=True, taken_off=True)
"""A less half of them."""

radial_values = _dense_sums(of_differences=True, radial=True)
"""exp(factor·(squared distance)); the others do not use the ``factor``, which has the type of X."""


@intrinsic
def sparse_products(typing, values, places, begin, end, T, base, A, at):
    """A[at + c] += Σ_p values[p]·T[base + places[p] + c] for p from begin to end and the columns c of a panel."""

    def generate(context, builder, signature, args):
        code = Code(context, builder, signature, args)
        value_of, place_of, t, a = (code.memory(position) for position in (0, 1, 4, 6))
        lanes = code.of(value_of)
        panel, out = code.at(t, args[5]), code.at(a, args[7])
        totals = [code.variable(code.load(out, number(c * lanes))) for c in range(SPARSE_PANEL)]
        with cgutils.for_range_slice(builder, args[2], args[3], number(1)) as (p, _):
            value = code.everywhere(builder.load(code.at(value_of, p)))
            feature = code.at(panel, builder.sext(builder.load(code.at(place_of, p)), _I64))
            for c, total in enumerate(totals):
                code.add_product(value, code.load(feature, number(c * lanes)), total)
        for c, total in enumerate(totals):
            code.store(builder.load(total), out, number(c * lanes))
        return context.get_dummy_value()

    whole = types.int64
    return types.void(values, places, whole, whole, T, whole, A, whole), generate


@intrinsic
def radial_products(typing, X, starts, d, T, panels, minus_gamma, coef, out):
    """out[r] += Σ_c exp(minus_gamma·‖x_r − t_c‖²)·coef[c] over all columns c of the panels, for r up to ``TOGETHER``.

    Nothing but the sums leaves the registers. ``coef`` has the type of X, and a number for every column.
    """

    def generate(context, builder, signature, args):
        code = Code(context, builder, signature, args)
        x, first, t, weight, sums = (code.memory(position) for position in (0, 1, 3, 6, 7))
        lanes = code.of(x)
        minus_gamma = code.everywhere(args[5])
        rows = [code.at(x, builder.load(code.at(first, number(r)))) for r in range(TOGETHER)]
        width = number(DENSE_PANEL * lanes)
        panel_size = builder.mul(args[2], width)
        singles = [code.variable() for _ in rows]
        distances = [[code.variable() for _ in range(DENSE_PANEL)] for _ in rows]
        with cgutils.for_range_slice(builder, number(0), args[4], number(SINGLE_SUMS)) as (begin, _):
            for single in singles:
                builder.store(ir.Constant(code.vector, None), single)
            end = builder.add(begin, number(SINGLE_SUMS))
            end = builder.select(builder.icmp_signed("<", end, args[4]), end, args[4])
            with cgutils.for_range_slice(builder, begin, end, number(1)) as (p, _):
                for distance in (one for of_row in distances for one in of_row):
                    builder.store(ir.Constant(code.vector, None), distance)
                panel = code.at(t, builder.mul(p, panel_size))
                with cgutils.for_range(builder, args[2]) as loop:
                    feature = code.at(panel, builder.mul(loop.index, width))
                    right = [code.load(feature, number(c * lanes)) for c in range(DENSE_PANEL)]
                    for row, of_row in zip(rows, distances, strict=True):
                        value = code.everywhere(builder.load(code.at(row, loop.index)))
                        for other, distance in zip(right, of_row, strict=True):
                            difference = builder.fsub(value, other)
                            code.add_product(difference, difference, distance)
                for c in range(DENSE_PANEL):
                    weights = code.load(weight, builder.add(builder.mul(p, width), number(c * lanes)))
                    for of_row, single in zip(distances, singles, strict=True):
                        value = code.exp_negative(builder.fmul(minus_gamma, builder.load(of_row[c])))
                        code.add_product(value, weights, single)
            for r, single in enumerate(singles):
                place = code.at(sums, number(r))
                builder.store(builder.fadd(builder.load(place), code.total(builder.load(single))), place)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(X, starts, whole, T, whole, minus_gamma, coef, out), generate


@intrinsic
def radial_sum(typing, A, at, count, factor, coef):
    """Σ_c exp(min(0, factor·A[at + c]))·coef[c] for c up to ``count``, a number of whole sparse panels."""

    def generate(context, builder, signature, args):
        code = Code(context, builder, signature, args)
        a, weight = (code.memory(position) for position in (0, 4))
        lanes = code.of(a)
        row, factor = code.at(a, args[1]), code.everywhere(args[3])
        total = cgutils.alloca_once_value(builder, ir.Constant(ir.DoubleType(), 0.0))
        single = code.variable()
        with cgutils.for_range_slice(builder, number(0), args[2], number(SPARSE_PANEL * lanes)) as (panel, _):
            builder.store(ir.Constant(code.vector, None), single)
            for c in range(SPARSE_PANEL):
                place = builder.add(panel, number(c * lanes))
                power, zero = builder.fmul(factor, code.load(row, place)), code.number(0)
                power = builder.select(builder.fcmp_ordered("<", zero, power), zero, power)
                code.add_product(code.exp_negative(power), code.load(weight, place), single)
            builder.store(builder.fadd(builder.load(total), code.total(builder.load(single))), total)
        return builder.load(total)

    return types.float64(A, types.int64, types.int64, factor, coef), generate


@intrinsic
def both_ways(typing, A, at, count, coef, own, first, sums, found):
    """sums[c] += Σ_r A[at + r·count + c]·own[first + r], and found[r] = Σ_c A[at + r·count + c]·coef[c], for r up to
    ``TOGETHER`` and c up to ``count``, a number of whole vectors; all but ``found`` have the type of A."""

    def generate(context, builder, signature, args):
        code = Code(context, builder, signature, args)
        a, weight, mine, total, out = (code.memory(position) for position in (0, 3, 4, 6, 7))
        lanes = code.of(a)
        rows = [code.at(a, builder.add(args[1], builder.mul(args[2], number(r)))) for r in range(TOGETHER)]
        own = [code.everywhere(builder.load(code.at(mine, builder.add(args[5], number(r))))) for r in range(TOGETHER)]
        singles = [code.variable() for _ in rows]
        column = code.variable()
        with cgutils.for_range_slice(builder, number(0), args[2], number(lanes)) as (c, _):
            weights = code.load(weight, c)
            builder.store(code.load(total, c), column)
            for row, factor, single in zip(rows, own, singles, strict=True):
                values = code.load(row, c)
                code.add_product(values, weights, single)
                code.add_product(values, factor, column)
            code.store(builder.load(column), total, c)
        for r, single in enumerate(singles):
            builder.store(code.total(builder.load(single)), code.at(out, number(r)))
        return context.get_dummy_value()

    whole = types.int64
    return types.void(A, whole, whole, coef, own, whole, sums, found), generate


@intrinsic
def turn_square(typing, A, source, target, stride):
    """A[target + r·stride + c] = A[source + c·stride + r] for r and c up to the numbers in a vector.

    Two rows that are half of the square apart are interleaved, again and again, until all numbers of a row were.
    """

    def generate(context, builder, signature, args):
        code = Code(context, builder, signature, args)
        a = code.memory(0)
        lanes = code.of(a)
        rows = [code.load(a, builder.add(args[1], builder.mul(args[3], number(r)))) for r in range(lanes)]
        kind = ir.VectorType(_I32, lanes)
        halves = [ir.Constant(kind, [(half + c) // 2 + lanes * (c % 2) for c in range(lanes)]) for half in (0, lanes)]
        for _ in range(lanes.bit_length() - 1):
            pairs = zip(rows[: lanes // 2], rows[lanes // 2 :], strict=True)
            rows = [builder.shuffle_vector(one, other, half) for one, other in pairs for half in halves]
        for r, row in enumerate(rows):
            code.store(row, a, builder.add(args[2], builder.mul(args[3], number(r))))
        return context.get_dummy_value()

    whole = types.int64
    return types.void(A, whole, whole, whole), generate
