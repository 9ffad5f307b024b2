"""Python scalars as operands of arrays.

CuPy 14 follows NumPy 2: a Python scalar takes the array's dtype. In CuPy 13 the value counts:
float32 with a number that float32 cannot hold gives float64.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, TypeAlias

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.types import Rows

Scalar = builtins.bool | int | float | complex
Operand: TypeAlias = ndarray | Scalar

SCALARS_YIELD = int(cupy.__version__.partition(".")[0]) >= 14


def fixed(x: Operand, dtype: np.dtype[Any]) -> ndarray | np.generic:
    """Return a Python scalar as a NumPy scalar of a dtype; arrays are unchanged."""
    if isinstance(x, ndarray):
        return x
    with np.errstate(over="ignore"):
        scalar: np.generic = dtype.type(x)
    return scalar


def dtype_of(x1: Any, x2: Any) -> np.dtype[Any]:
    """Return the dtype of two operands, one of which may be a Python scalar."""
    dtype: np.dtype[Any] = (x1 if isinstance(x1, ndarray) else x2).dtype
    return dtype


def taking_scalars(rows: Rows) -> Rows:
    """Return rows whose functions of two arrays also accept one scalar."""
    if SCALARS_YIELD:
        return rows
    return {
        name: {kinds: _yielding(function) for kinds, function in row.items()}
        for name, row in rows.items()
    }


def _yielding(function: Callable[..., ndarray]) -> Callable[..., ndarray]:
    def of_two(x1: Operand, x2: Operand, /) -> ndarray:
        dtype = dtype_of(x1, x2)
        return function(fixed(x1, dtype), fixed(x2, dtype))

    return of_two
