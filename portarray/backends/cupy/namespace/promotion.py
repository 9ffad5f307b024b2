"""Python scalars beside arrays, and operands of kernels.

CuPy 14 follows NumPy 2: a Python scalar yields to the array's dtype. CuPy 13 looks at its value,
and makes float64 of float32 beside a number that float32 cannot hold.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from cupy import ndarray

__all__ = ["Operand", "Scalar", "common", "of_two", "result_type"]

Scalar = builtins.bool | int | float | complex
Operand = ndarray | Scalar
Binary = Callable[[Operand, Operand], ndarray]

SCALARS_YIELD = int(cupy.__version__.partition(".")[0]) >= 14


def result_type(*arrays_and_dtypes: Operand | np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that arrays, dtypes and Python scalars meet in, by the rules of NumPy 2."""
    parts = [part.dtype if isinstance(part, ndarray) else part for part in arrays_and_dtypes]
    return np.result_type(*parts)


def common(x1: Operand, x2: Operand) -> tuple[Operand, Operand]:
    """Return operands of one dtype; a Python scalar stays one, of a kind that the dtype holds."""
    first, second = getattr(x1, "dtype", None), getattr(x2, "dtype", None)
    if first is second and first is not None:
        return x1, x2
    if first is None and second is None:
        raise TypeError(
            f"at least one operand must be an array, got {type(x1).__name__} and "
            f"{type(x2).__name__}"
        )
    dtype = result_type(x1, x2)
    return _in_dtype(x1, first, dtype), _in_dtype(x2, second, dtype)


def _in_dtype(x: Operand, own: np.dtype[Any] | None, dtype: np.dtype[Any]) -> Operand:
    return x if own is None or own == dtype else x.astype(dtype)


def of_two(function: Binary) -> Binary:
    """Return a function of CuPy that lets Python scalars yield, whatever CuPy's version."""
    if SCALARS_YIELD:
        return function

    def yielding(x1: Operand, x2: Operand, /) -> ndarray:
        if hasattr(x1, "dtype") and hasattr(x2, "dtype"):
            return function(x1, x2)
        # A scalar of NumPy brings its dtype along.
        dtype = result_type(x1, x2)
        with np.errstate(over="ignore"):
            if not hasattr(x1, "dtype"):
                x1 = dtype.type(x1)
            if not hasattr(x2, "dtype"):
                x2 = dtype.type(x2)
        return function(x1, x2)

    return yielding
