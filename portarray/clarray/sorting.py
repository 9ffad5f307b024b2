"""Sorting, by NumPy on the host view: its vectorized sorts are hard to beat on a CPU."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from portarray.clarray.arguments import array_of, axis_of
from portarray.clarray.dtypes import bfloat16
from portarray.clarray.engine.argsorting import fits, sorted_places
from portarray.clarray.engine.copy import cast, copy
from portarray.clarray.engine.host import fill, modify, served, view
from portarray.clarray.engine.merging import sort_rows
from portarray.clarray.strided import Array

NumpyArray = np.ndarray[Any, Any]

_FLOAT = np.dtype(np.float32)
_PIECE = 1 << 16
"""Elements that are looked at together: what NumPy makes of them stays in the cache."""


@served
def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the indices that sort an array along an axis.

    Computed by the host; for many elements of at most 32 bits by several threads of CPU devices.
    """
    x = array_of(x, "argsort")
    axis = axis_of(axis, x.ndim)
    rows = _last(x, axis)
    if fits(rows):
        return _back(sorted_places(rows, descending=descending), axis)
    if rows.dtype == bfloat16:
        rows = cast(rows, _FLOAT)  # holds each of its values, and NumPy sorts it
    kind: Literal["stable", "quicksort"] = "stable" if stable else "quicksort"
    size = x.shape[axis]

    def order(out: NumpyArray, values: NumpyArray) -> None:
        if descending:
            # Sorted backwards and read backwards, equal elements stand as they did.
            found = np.argsort(values[..., ::-1], axis=-1, kind=kind)
            np.subtract(size - 1, found[..., ::-1], out=out)
        else:
            out[...] = np.argsort(values, axis=-1, kind=kind)

    return _back(fill(rows.shape, np.dtype(np.int64), x.device, order, rows), axis)


@served
def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return a sorted copy of an array.

    Computed by the host; on CPU devices by several threads, whose runs a kernel merges.
    """
    x = array_of(x, "sort")
    axis = axis_of(axis, x.ndim)
    dtype = x.dtype
    rows = _last(x, axis)
    found = sort_rows(cast(rows, _FLOAT) if dtype == bfloat16 else copy(rows))
    if stable and found.dtype.kind == "f" and _negative_zero(view(found)):

        def restore(values: NumpyArray) -> None:
            # Only zeros are equal and yet differ; they are written once more, as they stood.
            before = view(rows)
            final = values[..., ::-1] if descending else values
            final[final == 0] = before[before == 0]

        modify(found, restore)
    if descending:
        shape, strides = found.shape, found.strides
        last = found.offset + (shape[-1] - 1) * strides[-1] if found.size else found.offset
        found = found.view(shape, (*strides[:-1], -strides[-1]), last)
    if dtype == bfloat16:
        found = cast(found, dtype)
    return _back(found, axis)


def _last(x: Array, axis: int) -> Array:
    """Return a view of which the last axis is the one named."""
    order = (*(one for one in range(x.ndim) if one != axis), axis)
    return x.view(
        tuple([x.shape[one] for one in order]), tuple([x.strides[one] for one in order]), x.offset
    )


def _back(x: Array, axis: int) -> Array:
    """Return a C-contiguous array of which the last axis is where it was."""
    order = list(range(x.ndim - 1))
    order.insert(axis, x.ndim - 1)
    found = x.view(
        tuple([x.shape[one] for one in order]), tuple([x.strides[one] for one in order]), x.offset
    )
    return found if found.contiguous else copy(found)


def _negative_zero(values: NumpyArray) -> bool:
    """Tell whether -0.0 is among the elements of a contiguous array."""
    bits = values.reshape(-1).view(f"u{values.itemsize}")
    sign = bits.dtype.type(1 << (8 * values.itemsize - 1))
    return any(
        (bits[start : start + _PIECE] == sign).any() for start in range(0, bits.size, _PIECE)
    )
