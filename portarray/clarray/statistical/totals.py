"""Sums, products and extremes."""

from __future__ import annotations

from typing import Any

from portarray.clarray.arguments import Axes, array_of, axes_of
from portarray.clarray.engine.reduction import Reduction, reduce
from portarray.clarray.statistical.terms import (
    PROD,
    SUM,
    converted,
    count_along,
    refuse_empty,
    summed,
    total_dtype,
)
from portarray.clarray.strided import Array

_MAX = Reduction(
    "max",
    {
        "bool": ("max(a, b)", "T_MIN"),
        "signed": ("max(a, b)", "T_MIN"),
        "unsigned": ("max(a, b)", "T_MIN"),
        # The second test selects NaN, which stays, as nothing compares greater.
        "real": ("(b > a || b != b) ? b : a", "-INFINITY"),
    },
    "own",
)
_MIN = Reduction(
    "min",
    {
        "bool": ("min(a, b)", "T_MAX"),
        "signed": ("min(a, b)", "T_MAX"),
        "unsigned": ("min(a, b)", "T_MAX"),
        "real": ("(b < a || b != b) ? b : a", "INFINITY"),
    },
    "own",
)


def sum(
    x: Array, /, *, axis: Axes | None = None, dtype: Any = None, keepdims: bool = False
) -> Array:
    """Return sums of elements."""
    return _total(SUM, x, axis, dtype, keepdims)


def prod(
    x: Array, /, *, axis: Axes | None = None, dtype: Any = None, keepdims: bool = False
) -> Array:
    """Return products of elements."""
    return _total(PROD, x, axis, dtype, keepdims)


def max(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Return the greatest elements. Where one is NaN so is the result."""
    return _extreme(_MAX, x, axis, keepdims)


def min(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Return the least elements. Where one is NaN so is the result."""
    return _extreme(_MIN, x, axis, keepdims)


def _total(reduction: Reduction, x: Array, axis: Axes | None, dtype: Any, keepdims: bool) -> Array:
    axes = axes_of(axis, array_of(x, reduction.name).ndim)
    target = total_dtype(x, dtype, reduction.name)
    x = converted(x, target)
    if reduction is SUM:
        return summed(reduction, x, axes, keepdims, target, 1.0)
    return reduce(reduction, x, axes, keepdims, target)


def _extreme(reduction: Reduction, x: Array, axis: Axes | None, keepdims: bool) -> Array:
    name = reduction.name
    axes = axes_of(axis, array_of(x, name).ndim)
    if x.dtype.kind == "c":
        raise TypeError(f"{name} takes arrays of a real dtype, got {x.dtype}, which is not ordered")
    if count_along(x, axes) == 0:
        refuse_empty(name, x, axes)
    return reduce(reduction, x, axes, keepdims, x.dtype)
