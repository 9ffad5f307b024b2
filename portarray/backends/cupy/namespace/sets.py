"""Set functions, whose values are sorted.

Each NaN is a distinct value; 0.0 and -0.0 are equal.
"""

from __future__ import annotations

import cupy
import numpy as np
from cupy import ndarray

from portarray._result_types import (
    UniqueAllResult,
    UniqueCountsResult,
    UniqueInverseResult,
)
from portarray.backends.cupy.namespace.scalars import Operand, dtype_of
from portarray.backends.cupy.namespace.sorting import sortable


def isin(x1: Operand, x2: Operand, /, *, invert: bool = False) -> ndarray:
    """Return which elements of x1 are in x2; one of them may be a scalar."""
    dtype = dtype_of(x1, x2)
    if dtype.kind == "b":
        dtype = np.dtype(np.uint8)
    return cupy.isin(cupy.asarray(x1, dtype), sortable(cupy.asarray(x2, dtype)), invert=invert)


def unique_all(x: ndarray, /) -> UniqueAllResult[ndarray]:
    """Return values, first indices, inverse indices and counts."""
    values, indices, inverse, counts = cupy.unique(
        sortable(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return UniqueAllResult(values, indices, inverse.reshape(x.shape), counts)


def unique_counts(x: ndarray, /) -> UniqueCountsResult[ndarray]:
    """Return values and their counts."""
    return UniqueCountsResult(*cupy.unique(sortable(x), return_counts=True, equal_nan=False))


def unique_inverse(x: ndarray, /) -> UniqueInverseResult[ndarray]:
    """Return values and inverse indices."""
    values, inverse = cupy.unique(sortable(x), return_inverse=True, equal_nan=False)
    return UniqueInverseResult(values, inverse.reshape(x.shape))


def unique_values(x: ndarray, /) -> ndarray:
    """Return values."""
    return cupy.unique(sortable(x), equal_nan=False)
