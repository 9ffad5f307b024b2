"""Python scalars beside arrays, and operands of kernels.

CuPy 14 follows NumPy 2: a Python scalar yields to the array's dtype. CuPy 13 looks at its value,
and makes float64 of float32 beside a number that float32 cannot hold.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, TypeAlias

import cupy
import numpy as np
from cupy import ndarray

__all__ = ["Operand", "Scalar", "common", "fixed", "of_two", "result_type"]

Scalar = builtins.bool | int | float | complex
Operand: TypeAlias = ndarray | Scalar
Binary = Callable[[Operand, Operand], ndarray]

SCALARS_YIELD = int(cupy.__version__.partition(".")[0]) >= 14


def result_type(*arrays_and_dtypes: Operand | np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that arrays, dtypes and Python scalars meet in, by the rules of NumPy 2."""
    parts = [part.dtype if isinstance(part, ndarray) else part for part in arrays_and_dtypes]
    return np.result_type(*parts)


def common(x1: Operand, x2: Operand) -> tuple[Operand, Operand, np.dtype[Any]]:
    """Return operands of one dtype, and that dtype.

    A Python scalar stays one, of a kind that the dtype holds.
    """
    first: np.dtype[Any] | None = getattr(x1, "dtype", None)
    second: np.dtype[Any] | None = getattr(x2, "dtype", None)
    if first is None and second is None:
        raise TypeError(
            f"at least one operand must be an array, got {type(x1).__name__} and "
            f"{type(x2).__name__}"
        )
    if first is not None and first is second:
        return x1, x2, first
    dtype = result_type(x1, x2)
    return _in_dtype(x1, dtype), _in_dtype(x2, dtype), dtype


def _in_dtype(x: Operand, dtype: np.dtype[Any]) -> Operand:
    return x.astype(dtype, copy=False) if isinstance(x, ndarray) else x


def fixed(x: Operand, dtype: np.dtype[Any]) -> ndarray | np.generic:
    """Return an array as it is, and a Python scalar as one of NumPy's, which brings its dtype."""
    if isinstance(x, ndarray):
        return x
    with np.errstate(over="ignore"):
        scalar: np.generic = dtype.type(x)
    return scalar


def of_two(function: Binary) -> Binary:
    """Return a function of CuPy that lets Python scalars yield, whatever CuPy's version."""
    if SCALARS_YIELD:
        return function

    def yielding(x1: Operand, x2: Operand, /) -> ndarray:
        if hasattr(x1, "dtype") and hasattr(x2, "dtype"):
            return function(x1, x2)
        dtype = result_type(x1, x2)
        return function(fixed(x1, dtype), fixed(x2, dtype))

    return yielding
