"""How a value of one dtype's compute type becomes one of another's, and what T, R, C stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray.dtypes import cl_type

__all__ = ["conversion", "macros"]


def conversion(value: str, source: np.dtype[Any], target: np.dtype[Any]) -> str:
    """Return the OpenCL C expression that converts a value.

    Parameters
    ----------
    value : str
        An expression of the source dtype's compute type.
    source, target : numpy.dtype
        From what and to what.
    """
    if source == target:
        return value
    compute = cl_type(target).compute
    if target.kind == "b":
        if source.kind == "c":
            return f"(uchar)(({value}).x != 0 || ({value}).y != 0)"
        return f"(uchar)(({value}) != 0)"
    if target.kind == "c":
        if source.kind == "c":
            return f"convert_{compute}({value})"
        return f"({compute})(({value}), 0)"
    if source.kind == "c":
        return f"({compute})(({value}).x)"
    return f"({compute})({value})"


def macros(dtype: np.dtype[Any]) -> str:
    """Return the definitions that a program computing in a dtype begins with.

    ``T`` is the compute type. Of floating-point dtypes ``R`` is its real type and ``C`` the complex
    type of ``R``; of integers ``U`` is the unsigned type that arithmetic is done in so that
    overflow wraps, and ``T_MIN``, ``T_MAX`` and ``BITS`` are their limits and width.
    """
    compute = cl_type(dtype).compute
    lines = [f"#define T {compute}"]
    if dtype.kind in "fcV":
        part = compute.removesuffix("2")
        lines += [f"#define R {part}", f"#define C {part}2"]
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        unsigned = "ulong" if dtype.itemsize == 8 else "uint"
        # The lowest value of a signed type is no literal: its magnitude alone overflows.
        lowest = f"({limits.min + 1} - 1)" if limits.min else "0"
        lines += [
            f"#define U {unsigned}",
            f"#define T_MIN (({compute}){lowest})",
            f"#define T_MAX (({compute}){limits.max}{'u' if dtype.kind == 'u' else ''})",
            f"#define BITS {8 * dtype.itemsize}",
        ]
    return "\n".join(lines)
