"""Utility functions."""

from __future__ import annotations

import numpy as np

from portarray.clarray.arguments import Axes, array_of, axes_of, axis_of, integer_of
from portarray.clarray.arithmetic import subtract
from portarray.clarray.comparison import not_equal
from portarray.clarray.engine.copy import cast
from portarray.clarray.engine.reduction import Reduction, reduce
from portarray.clarray.manipulation import concat
from portarray.clarray.strided import Array

_BOOL = np.dtype(np.bool_)
# Vector comparisons give all bits set, scalar ones 1: the result is compared with zero.
_ALL = Reduction("all", {"signed": ("a & b", "-1")}, "truth", "(v != (E)(0))")
_ANY = Reduction("any", {"signed": ("a | b", "0")}, "truth", "(v != (E)(0))")


def all(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Return whether all elements are nonzero."""
    return _truth(_ALL, x, axis, keepdims)


def any(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Return whether any element is nonzero."""
    return _truth(_ANY, x, axis, keepdims)


def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Return differences of adjacent elements; for booleans exclusive or."""
    axis = axis_of(axis, array_of(x, "diff").ndim)
    if integer_of(n, "n") < 0:
        raise ValueError(f"n is {n}; differences are taken at least 0 times")
    parts = [
        array_of(part, "diff", name)
        for part, name in ((prepend, "prepend"), (x, "x"), (append, "append"))
        if part is not None
    ]
    result = concat(parts, axis=axis) if len(parts) > 1 else x
    for _ in range(n):
        size = result.shape[axis]
        shape = (*result.shape[:axis], size - 1 if size else 0, *result.shape[axis + 1 :])
        after = result.offset + (result.strides[axis] if size else 0)
        differ = not_equal if result.dtype == _BOOL else subtract
        result = differ(
            result.view(shape, result.strides, after),
            result.view(shape, result.strides, result.offset),
        )
    return result


def _truth(reduction: Reduction, x: Array, axis: Axes | None, keepdims: bool) -> Array:
    axes = axes_of(axis, array_of(x, reduction.name).ndim)
    if x.dtype.kind == "c":
        x = cast(x, _BOOL)
    return reduce(reduction, x, axes, keepdims, _BOOL)
