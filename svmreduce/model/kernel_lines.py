"""Kernels in model files: LIBSVM's header lines, and one last line for kernels that LIBSVM does not have.

Such a kernel (KMOD, a norm learned from rows, a mixture) has its own word as ``kernel_type``, so that LIBSVM's tools
refuse the file instead of predicting something else, and all its numbers in the line ``# kernel […]``.
"""

from __future__ import annotations

import json

import numpy as np

from svmreduce.errors import InputError
from svmreduce.kernels import LIBSVM_KERNELS, PRECOMPUTED, KernelMixture, KernelSpec
from svmreduce.model.text import ModelText
from svmreduce.norms import InputNorm

_LIBSVM_WORDS = {name: "polynomial" if name == "poly" else name for name in (*LIBSVM_KERNELS, PRECOMPUTED)}
_KERNEL = "# kernel "


def kernel_header(kernel: KernelSpec | KernelMixture) -> str:
    """``kernel_type`` and, for LIBSVM's kernels, their numbers."""
    if not _is_libsvms(kernel):
        return f"kernel_type {_own_word(kernel)}\n"
    lines = [f"kernel_type {_LIBSVM_WORDS[kernel.name]}"]
    if kernel.name == "poly":
        lines.append(f"degree {int(kernel.degree)}")
    if kernel.name not in ("linear", PRECOMPUTED):
        lines.append(f"gamma {float(kernel.gamma)!r}")
    if kernel.name in ("poly", "sigmoid"):
        lines.append(f"coef0 {float(kernel.coef0)!r}")
    return "\n".join(lines) + "\n"


def kernel_line(kernel: KernelSpec | KernelMixture) -> str:
    """The last line of a kernel that LIBSVM does not have; nothing for the others."""
    if _is_libsvms(kernel):
        return ""
    parts, weights = (kernel.parts, kernel.weights) if kernel.is_mixture else ((kernel,), (1.0,))
    described = []
    for part, weight in zip(parts, weights, strict=True):
        norm = part.norm and {"name": part.norm.name, "factor": part.norm.factor.tolist()}
        described.append({"name": part.name, "gamma": float(part.gamma), "coef0": float(part.coef0),
                          "degree": int(part.degree), "norm": norm, "weight": float(weight)})  # fmt: skip
    return f"{_KERNEL}{json.dumps(described)}\n"


def read_kernel(text: ModelText) -> KernelSpec | KernelMixture:
    """The kernel of a model file."""
    given, line = text.word("kernel_type"), text.lines["kernel_type"]
    names = {word: name for name, word in _LIBSVM_WORDS.items()}
    number, last = text.last_line(_KERNEL)
    if given not in names and last:
        return _read_own(text, number, last[len(_KERNEL) :])
    if given not in names:
        raise text.fail(line, f"unknown kernel_type {given!r}: known are {', '.join(names)}")
    name, values = names[given], {}
    if name not in ("linear", PRECOMPUTED):
        values["gamma"] = text.number("gamma")
    if name in ("poly", "sigmoid"):
        values["coef0"] = text.number("coef0")
    if name == "poly":
        values["degree"] = text.count("degree")
    try:
        return KernelSpec(name, **values)
    except InputError as error:
        raise text.fail(line, str(error)) from None


def _is_libsvms(kernel) -> bool:
    return not kernel.is_mixture and kernel.norm is None and kernel.name in _LIBSVM_WORDS


def _own_word(kernel) -> str:
    return kernel.name if kernel.is_mixture or kernel.norm is None else f"gaussian_{kernel.norm.name}"


def _read_own(text: ModelText, number: int, described: str) -> KernelSpec | KernelMixture:
    try:
        parts, weights = [], []
        for part in json.loads(described):
            weights.append(float(part.pop("weight")))
            norm = part.pop("norm")
            if norm is not None:
                norm = InputNorm(str(norm["name"]), np.array(norm["factor"], dtype=np.float64))
                if norm.factor.ndim not in (1, 2) or not np.isfinite(norm.factor).all():
                    raise ValueError("the factor of a norm is a list or a table of finite numbers")
            parts.append(KernelSpec(**part, norm=norm))
        if not parts or not np.isfinite(weights).all():
            raise ValueError("it needs a kernel, and finite weights")
    except (ValueError, TypeError, KeyError, AttributeError) as error:  # InputError is a ValueError
        why = " ".join(str(error).split())
        raise text.fail(number, f"the kernel cannot be read ({why}); train again") from None
    return parts[0] if len(parts) == 1 else KernelMixture(tuple(parts), tuple(weights))
