"""Set functions, computed by NumPy on the host.

In ``unique_*`` each NaN is a separate element; 0.0 and -0.0 are one element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray._result_types import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from portarray.clarray.arguments import array_of
from portarray.clarray.dtypes import bfloat16
from portarray.clarray.engine.host import fill, served, to_array, view
from portarray.clarray.engine.operands import Operand, pair
from portarray.clarray.strided import Array

NumpyArray = np.ndarray[Any, Any]

_INDEX = np.dtype(np.int64)


@served
def isin(x1: Operand, x2: Operand, /, *, invert: bool = False) -> Array:
    """Tell for each element of one array whether another array contains it."""
    first, second, dtype = pair(x1, x2, "isin")
    device = next(x.device for x in (first, second) if isinstance(x, Array))
    # bfloat16 goes into float32 without loss, and NumPy sorts that.
    compared: np.dtype[Any] = np.dtype(np.float32) if dtype == bfloat16 else dtype
    with np.errstate(over="ignore"):  # overflow gives infinity
        elements, members = (
            view(x).astype(compared, copy=False)
            if isinstance(x, Array)
            else np.asarray(x, compared)
            for x in (first, second)
        )

    def test(out: NumpyArray) -> None:
        out[...] = np.isin(elements, members, invert=invert)

    return fill(elements.shape, np.dtype(np.bool_), device, test)


@served
def unique_all(x: Array, /) -> UniqueAllResult[Array]:
    """Return the unique elements, their indices, those that rebuild the array, and counts."""
    x = array_of(x, "unique_all")
    values, indices, inverse, counts = np.unique(
        _comparable(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return UniqueAllResult(
        to_array(values, x.device, x.dtype),
        to_array(indices, x.device, _INDEX),
        to_array(inverse.reshape(x.shape), x.device, _INDEX),
        to_array(counts, x.device, _INDEX),
    )


@served
def unique_counts(x: Array, /) -> UniqueCountsResult[Array]:
    """Return the unique elements and how often each occurs."""
    x = array_of(x, "unique_counts")
    values, counts = np.unique(_comparable(x), return_counts=True, equal_nan=False)
    return UniqueCountsResult(
        to_array(values, x.device, x.dtype), to_array(counts, x.device, _INDEX)
    )


@served
def unique_inverse(x: Array, /) -> UniqueInverseResult[Array]:
    """Return the unique elements and the indices that rebuild the array from them."""
    x = array_of(x, "unique_inverse")
    values, inverse = np.unique(_comparable(x), return_inverse=True, equal_nan=False)
    return UniqueInverseResult(
        to_array(values, x.device, x.dtype), to_array(inverse.reshape(x.shape), x.device, _INDEX)
    )


@served
def unique_values(x: Array, /) -> Array:
    """Return the unique elements."""
    x = array_of(x, "unique_values")
    return to_array(np.unique(_comparable(x), equal_nan=False), x.device, x.dtype)


def _comparable(x: Array) -> NumpyArray:
    """Return an array's elements in a dtype that NumPy sorts."""
    values = view(x)
    return values.astype(np.float32) if x.dtype == bfloat16 else values
