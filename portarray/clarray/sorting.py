"""Sorting, by NumPy on the host."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from portarray.clarray.arguments import array_of, axis_of
from portarray.clarray.dtypes import bfloat16
from portarray.clarray.engine.argsorting import fits, sorted_places
from portarray.clarray.engine.copy import cast, contiguous, copy
from portarray.clarray.engine.host import fill, modify, served, view
from portarray.clarray.engine.merging import sort_rows
from portarray.clarray.strided import Array, permuted

NumpyArray = np.ndarray[Any, Any]

_FLOAT = np.dtype(np.float32)
_PIECE = 1 << 16
"""Elements compared at a time, so that temporaries stay in cache."""


@served
def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the indices that sort an array along an axis."""
    x = array_of(x, "argsort")
    axis = axis_of(axis, x.ndim)
    rows = _axis_last(x, axis)
    if fits(rows):
        return _axis_back(sorted_places(rows, descending=descending), axis)
    if rows.dtype == bfloat16:
        rows = cast(rows, _FLOAT)  # exact, and NumPy sorts it
    kind: Literal["stable", "quicksort"] = "stable" if stable else "quicksort"
    size = x.shape[axis]

    def order(out: NumpyArray, values: NumpyArray) -> None:
        if descending:
            # Reversed before and after, so that equal elements keep their order.
            positions = np.argsort(values[..., ::-1], axis=-1, kind=kind)
            np.subtract(size - 1, positions[..., ::-1], out=out)
        else:
            out[...] = np.argsort(values, axis=-1, kind=kind)

    return _axis_back(fill(rows.shape, np.dtype(np.int64), x.device, order, rows), axis)


@served
def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return a sorted copy of an array; on CPUs in threads, whose runs a kernel merges."""
    x = array_of(x, "sort")
    axis = axis_of(axis, x.ndim)
    dtype = x.dtype
    rows = _axis_last(x, axis)
    result = sort_rows(cast(rows, _FLOAT) if dtype == bfloat16 else copy(rows))
    if stable and result.dtype.kind == "f" and _negative_zero(view(result)):

        def restore(values: NumpyArray) -> None:
            # Of equal elements only zeros differ: restore their original order.
            original = view(rows)
            final = values[..., ::-1] if descending else values
            final[final == 0] = original[original == 0]

        modify(result, restore)
    if descending:
        shape, strides = result.shape, result.strides
        last = result.offset + (shape[-1] - 1) * strides[-1] if result.size else result.offset
        result = result.view(shape, (*strides[:-1], -strides[-1]), last)
    if dtype == bfloat16:
        result = cast(result, dtype)
    return _axis_back(result, axis)


def _axis_last(x: Array, axis: int) -> Array:
    """Return a view with an axis moved to the end."""
    order = (*(entry for entry in range(x.ndim) if entry != axis), axis)
    return permuted(x, order)


def _axis_back(x: Array, axis: int) -> Array:
    """Return a C-contiguous array with the last axis moved back."""
    order = list(range(x.ndim - 1))
    order.insert(axis, x.ndim - 1)
    return contiguous(permuted(x, order))


def _negative_zero(values: NumpyArray) -> bool:
    """Return whether -0.0 is among the elements of a contiguous array."""
    bits = values.reshape(-1).view(f"u{values.itemsize}")
    sign = bits.dtype.type(1 << (8 * values.itemsize - 1))
    return any(
        (bits[start : start + _PIECE] == sign).any() for start in range(0, bits.size, _PIECE)
    )
