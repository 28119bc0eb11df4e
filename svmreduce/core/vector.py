"""What the compiler does not turn into vector instructions by itself.

A call into the C library stops vectorisation, and so does the comparison that numba makes of
``max(a, b)`` when it feeds a reduction. These do the same work in instructions that LLVM packs.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload, register_jitable

VECTOR = {"contract", "nsz", "reassoc", "nnan", "ninf"}  # for loops whose inputs are known to be finite


def _two_argument_intrinsic(name):
    @intrinsic
    def call(typing, a, b):
        def generate(context, builder, signature, args):
            kind = args[0].type
            function = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind, kind]))
            return builder.call(function, args, fastmath=("nnan", "nsz"))

        return a(a, a), generate

    return call


fmax = _two_argument_intrinsic("llvm.maxnum")
fmin = _two_argument_intrinsic("llvm.minnum")


@intrinsic
def bits_as_float32(typing, bits):
    return types.float32(types.int32), lambda _, builder, __, args: builder.bitcast(args[0], ir.FloatType())


@intrinsic
def float32_as_bits(typing, x):
    return types.int32(types.float32), lambda _, builder, __, args: builder.bitcast(args[0], ir.IntType(32))


@intrinsic
def _bits_as_float64(typing, bits):
    return types.float64(types.int64), lambda _, builder, __, args: builder.bitcast(args[0], ir.DoubleType())


@intrinsic
def _nearest(typing, x):
    """The nearest whole number."""

    def generate(context, builder, signature, args):
        kind = args[0].type
        function = builder.module.declare_intrinsic("llvm.rint", [kind], ir.FunctionType(kind, [kind]))
        return builder.call(function, args)

    return x(x), generate


@intrinsic
def _fused(typing, a, b, c):
    """a·b + c with one rounding, whatever else the compiler may do to the sums around it."""

    def generate(context, builder, signature, args):
        kind = args[0].type
        function = builder.module.declare_intrinsic("llvm.fma", [kind], ir.FunctionType(kind, [kind] * 3))
        return builder.call(function, args)

    return a(a, a, a), generate


TAGS = 2**16  # places that fit into the low bits of a float32, with seven left for its size


@register_jitable
def tag_of(x, tags):
    """The place in the low bits of a float32, below ``tags``: the largest of many so tagged knows where it was."""
    return np.int64(float32_as_bits(x)) & (tags - 1)


LEAST_32, LEAST_64 = -64.0, -700.0  # less is taken as this: products with coefficients are not denormal numbers
LOG2_E = 1.4426950408889634
LN2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # in two parts: a few bits less, and the rest
# exp on a short interval as a polynomial, from the highest power to the constant: of 2^f, and of e^f (Taylor's series)
POWERS_32 = 1.5403530e-4, 1.3333558e-3, 9.6181291e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1, 1.0
POWERS_64 = tuple(1.0 / math.factorial(k) for k in range(13, -1, -1))


@register_jitable(inline="always")
def _exp32(x):
    """exp(x) for x <= 0, within 2 ulp of absolute size one. A scalar libm call would not vectorise."""
    t = max(x, np.float32(LEAST_32)) * np.float32(LOG2_E)
    n = _nearest(t)
    f = t - n  # 2^f on [-1/2, 1/2]
    p = np.float32(POWERS_32[0])
    p = p * f + np.float32(POWERS_32[1])
    p = p * f + np.float32(POWERS_32[2])
    p = p * f + np.float32(POWERS_32[3])
    p = p * f + np.float32(POWERS_32[4])
    p = p * f + np.float32(POWERS_32[5])
    p = p * f + np.float32(POWERS_32[6])
    return bits_as_float32(float32_as_bits(p) + (np.int32(n) << np.int32(23)))  # 2^n·p: n is added to the exponent


@register_jitable(inline="always")
def _exp64(x):
    """exp(x) for x <= 0: ln 2 in two parts, then the Taylor series to degree 13."""
    x = max(x, LEAST_64)
    n = np.floor(x * LOG2_E + 0.5)
    f = _fused(-n, LN2[1], _fused(-n, LN2[0], x))
    p = POWERS_64[0]
    p = p * f + POWERS_64[1]
    p = p * f + POWERS_64[2]
    p = p * f + POWERS_64[3]
    p = p * f + POWERS_64[4]
    p = p * f + POWERS_64[5]
    p = p * f + POWERS_64[6]
    p = p * f + POWERS_64[7]
    p = p * f + POWERS_64[8]
    p = p * f + POWERS_64[9]
    p = p * f + POWERS_64[10]
    p = p * f + POWERS_64[11]
    p = p * f + POWERS_64[12]
    p = p * f + POWERS_64[13]
    return p * _bits_as_float64((np.int64(np.int32(n)) + np.int64(1023)) << np.int64(52))


@register_jitable(inline="always")
def cos_of_turns(t):
    """cos(2πt) in double: whole turns off, then a sine from -π/2 to π/2, the Taylor series to degree 19."""
    x = (0.25 - abs(t - np.floor(t + 0.5))) * 6.283185307179586
    s = x * x
    p = -8.220635246624329e-18
    p = p * s + 2.8114572543455206e-15
    p = p * s - 7.647163731819816e-13
    p = p * s + 1.6059043836821613e-10
    p = p * s - 2.505210838544172e-08
    p = p * s + 2.7557319223985893e-06
    p = p * s - 1.984126984126984e-04
    p = p * s + 8.333333333333333e-03
    p = p * s - 0.16666666666666666
    return (p * s + 1.0) * x


def exp_negative(x):
    """exp(x) for x <= 0 in the precision of x; in compiled code only."""
    raise TypeError("exp_negative exists in compiled code only")


@overload(exp_negative, inline="always")
def _exp_overload(x):
    return (lambda x: _exp32(x)) if x == types.float32 else (lambda x: _exp64(x))


@register_jitable
def kmod(u, shape, phi_of_shape):
    """(exp(shape/(1 + u)) − 1) / (exp(shape) − 1) for u, shape ≥ 0, in double.

    With t = shape/(1 + u) it is exp(t − shape)·φ(t)/φ(shape)/(1 + u): no exponential is large, and shape = 0 is the
    limit 1/(1 + u).
    """
    t = shape / (1.0 + u)
    return _exp64(t - shape) * phi(t) / (phi_of_shape * (1.0 + u))


@register_jitable
def phi(t):
    """(1 − exp(−t))/t for t ≥ 0; its series where the difference would cancel."""
    return (1.0 - _exp64(-t)) / t if t > 1e-3 else 1.0 - t * (0.5 - t * (1.0 / 6.0 - t / 24.0))
