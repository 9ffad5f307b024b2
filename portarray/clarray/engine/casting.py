"""Conversions between dtypes in OpenCL C, and the macros of a compute type."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray.dtypes import bfloat16, cl_type, kind_of

DType = np.dtype[Any]

_HALF: DType = np.dtype(np.float16)
_SIXTEEN = {_HALF: "rounded_half", bfloat16: "rounded_bf16"}


def conversion(value: str, source: DType, target: DType, *, stored: bool = False) -> str:
    """Return the OpenCL C expression that converts a value; it needs ``kernels/casting.cl``.

    The result for real numbers outside an integer dtype's range is unspecified.
    """
    if source == target:
        return value
    kind, compute = kind_of(target), cl_type(target).compute
    if source.kind == "c":
        if kind == "bool":
            return f"(uchar)(({value}).x != 0 || ({value}).y != 0)"
        if kind == "complex":
            return f"convert_{compute}({value})"
        part = np.dtype(np.float64 if source.itemsize == 16 else np.float32)
        return conversion(f"({value}).x", part, target, stored=stored)
    if kind == "bool":
        return f"(uchar)(({value}) != 0)"
    if kind == "complex":
        return f"({compute})(({compute.removesuffix('2')})({value}), 0)"
    if target in _SIXTEEN:
        rounded = _as_float(value, source)
        return rounded if stored or source.kind == "b" else f"{_SIXTEEN[target]}({rounded})"
    if kind_of(source) == "real" and kind in ("signed", "unsigned"):
        return _as_integer(value, target)
    return f"({compute})({value})"


def _as_float(value: str, source: DType) -> str:
    """Return a value as a float that rounds to 16 bits as the value itself would."""
    if source.kind == "f" and source.itemsize == 8:
        return f"odd_from_double({value})"
    if source.kind in "iu" and source.itemsize >= 4:
        return f"odd_from_{'long' if source.kind == 'i' else 'ulong'}({value})"
    return f"(float)({value})"


def _as_integer(value: str, target: DType) -> str:
    """Return a real number truncated to an integer, which wraps as in NumPy."""
    # C leaves the direct conversion of negative numbers to unsigned types, and of numbers out of a
    # narrow type's range, undefined.
    compute = cl_type(target).compute
    if target.itemsize < 4:
        return f"({compute})(int)({value})"
    if target.itemsize == 4:
        return f"({compute})(long)({value})" if target.kind == "u" else f"({compute})({value})"
    if target.kind == "u":
        return f"(({value}) < 0 ? ({compute})(long)({value}) : ({compute})({value}))"
    return f"({compute})({value})"


def macros(dtype: DType) -> str:
    """Return the definitions that a program computing in a dtype begins with.

    ``T`` is the compute type. For floating-point dtypes ``R`` is its real type and ``C`` the
    complex type of ``R``; ``R_IS_DOUBLE``, ``STORED_HALF`` and ``STORED_BF16`` are 1 or 0. For
    integers ``U`` is the unsigned type of wrapping arithmetic, ``BITS`` the width, and ``SIGNED``
    1 or 0.
    """
    compute = cl_type(dtype).compute
    lines = [f"#define T {compute}"]
    if kind_of(dtype) in ("real", "complex"):
        part = compute.removesuffix("2")
        lines += [
            f"#define R {part}",
            f"#define C {part}2",
            f"#define R_IS_DOUBLE {int(part == 'double')}",
            f"#define STORED_HALF {int(dtype == _HALF)}",
            f"#define STORED_BF16 {int(dtype == bfloat16)}",
        ]
    elif dtype.kind in "iu":
        lines += [
            f"#define U {'ulong' if dtype.itemsize == 8 else 'uint'}",
            f"#define BITS {8 * dtype.itemsize}",
            f"#define SIGNED {int(dtype.kind == 'i')}",
        ]
    return "\n".join(lines)
