"""How a value of one dtype's compute type becomes one of another's, and what T, R, C stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray.dtypes import bfloat16, cl_type, kind_of

DType = np.dtype[Any]

_HALF: DType = np.dtype(np.float16)
_SIXTEEN = {_HALF: "rounded_half", bfloat16: "rounded_bf16"}


def conversion(value: str, source: DType, target: DType, *, stored: bool = False) -> str:
    """Return the OpenCL C expression that converts a value.

    Real numbers outside an integer dtype's range become some integer. Programs that convert between
    different dtypes need ``kernels/casting.cl``.
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
    """Return a value as the float that is then rounded to 16 bits."""
    if source.kind == "f" and source.itemsize == 8:
        return f"odd_from_double({value})"
    if source.kind in "iu" and source.itemsize >= 4:
        return f"odd_from_{'long' if source.kind == 'i' else 'ulong'}({value})"
    return f"(float)({value})"


def _as_integer(value: str, target: DType) -> str:
    """Return a real number without its fraction as an integer that wraps, as NumPy's does.

    C leaves a negative number as unsigned integer undefined, and one beyond a narrow integer.
    """
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

    ``T`` is the compute type. Of floating-point dtypes ``R`` is its real type, ``C`` the complex
    type of ``R``, and ``R_IS_DOUBLE``, ``STORED_HALF`` and ``STORED_BF16`` tell (1 or 0) what
    they are. Of integers ``U`` is the unsigned type that arithmetic is done in so that overflow
    wraps, ``BITS`` the width, and ``SIGNED`` tells whether they are signed.
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
