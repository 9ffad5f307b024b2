"""Searching functions."""

from __future__ import annotations

from typing import Literal

import numpy as np

from portarray.clarray.arguments import Axes, array_of, axes_of, axis_of
from portarray.clarray.dtypes import kind_of, promote
from portarray.clarray.engine.arg_reduction import arg_extreme
from portarray.clarray.engine.compaction import compact
from portarray.clarray.engine.copy import cast
from portarray.clarray.engine.operands import one_device, python_scalar, scalar_operand
from portarray.clarray.engine.reduction import Reduction, reduce
from portarray.clarray.engine.search import search, unravel
from portarray.clarray.engine.transfer import from_numpy
from portarray.clarray.statistical.terms import refuse_empty
from portarray.clarray.strided import Array

_COUNT = Reduction("count_nonzero", {"signed": ("a + b", "0")}, "count", "(T_(v != (E)(0)) & 1L)")
_INDEX = np.dtype(np.int64)


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the indices of the first greatest elements."""
    return _arg_extreme("argmax", x, axis, keepdims, ">")


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the indices of the first least elements."""
    return _arg_extreme("argmin", x, axis, keepdims, "<")


def count_nonzero(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Return counts of nonzero elements."""
    axes = axes_of(axis, array_of(x, "count_nonzero").ndim)
    if x.dtype.kind == "c":
        x = cast(x, np.dtype(np.bool_))
    return reduce(_COUNT, x, axes, keepdims, _INDEX)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the indices of nonzero elements, in C order."""
    if array_of(x, "nonzero").ndim == 0:
        raise ValueError("nonzero: x is 0-d\nHint: use x != 0")
    return unravel(compact(x), x.shape)


def searchsorted(
    x1: Array,
    x2: Array | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
) -> Array:
    """Return where values belong in a sorted array."""
    array_of(x1, "searchsorted", "x1")
    if x1.ndim != 1:
        raise ValueError(f"searchsorted searches in a one-dimensional x1, got shape {x1.shape}")
    if side not in ("left", "right"):
        raise ValueError(f"side is {side!r}; it must be 'left' or 'right'")
    if isinstance(x2, Array):
        one_device("searchsorted", x1, x2)
        values = x2
    else:
        scalar, dtype = scalar_operand(python_scalar(x2, "searchsorted"), x1.dtype, "searchsorted")
        with np.errstate(over="ignore"):  # overflow gives infinity
            values = from_numpy(np.asarray(scalar, dtype), x1.device)
    dtype = promote(x1.dtype, values.dtype)
    if kind_of(dtype) == "complex":
        raise TypeError(
            f"searchsorted takes arrays of a real dtype, got {dtype}, which is unordered"
        )
    if sorter is not None:
        array_of(sorter, "searchsorted", "sorter")
        one_device("searchsorted", x1, sorter)
        if kind_of(sorter.dtype) not in ("signed", "unsigned"):
            raise TypeError(f"sorter holds integer indices, got dtype {sorter.dtype}")
        if sorter.shape != x1.shape:
            raise ValueError(
                f"sorter has one index for each element of x1, got shapes {sorter.shape} and "
                f"{x1.shape}"
            )
        sorter = sorter if sorter.dtype == _INDEX else cast(sorter, _INDEX)
    x1 = x1 if x1.dtype == dtype else cast(x1, dtype)
    values = values if values.dtype == dtype else cast(values, dtype)
    return search(x1, values, side == "right", sorter)


def _arg_extreme(name: str, x: Array, axis: int | None, keepdims: bool, sign: str) -> Array:
    ndim = array_of(x, name).ndim
    if x.dtype.kind == "c":
        raise TypeError(f"{name} takes arrays of a real dtype, got {x.dtype}, which is not ordered")
    axes = tuple(range(ndim)) if axis is None else (axis_of(axis, ndim),)
    if 0 in [x.shape[entry] for entry in axes]:
        refuse_empty(name, x, axes)
    return arg_extreme(x, axes, keepdims, sign)
