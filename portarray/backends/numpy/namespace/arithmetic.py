"""Arithmetic on NumPy arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from portarray.backends.common.finiteness import are_surely_finite, inner
from portarray.backends.common.keys import check_unshared
from portarray.backends.composed.arithmetic import sign_parts
from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]


def as_real_pairs(function: Callable[..., tuple[Any, Any]]) -> Callable[[Array], Array]:
    """Return a function of complex arrays from one of real and imaginary parts."""

    def complex_function(x: Array, /) -> Array:
        out = np.empty_like(x)
        with np.errstate(all="ignore"):
            out.real, out.imag = function(np, x.real, x.imag)
        return out

    return complex_function


def _floor_divide(x1: Any, x2: Any, /) -> Array:
    """Divide and round down; NumPy returns NaN or -1 for infinite operands."""
    quotient: Array = np.floor_divide(x1, x2)
    if are_surely_finite(x1, x2):
        return quotient
    infinite = np.isinf(x1) | np.isinf(x2)
    if infinite.any():
        quotient = np.where(infinite, np.floor(np.divide(x1, x2)), quotient)
    return quotient


def _half_nextafter(x1: Any, x2: Any, /) -> Array:
    """Return x2 where both are equal; NumPy keeps x1's sign of zero."""
    out: Array = np.where(x1 == x2, x2, np.nextafter(x1, x2))
    return out


def _with_strong_zeros(out: Array, x1: Array) -> Array:
    """Return a product or quotient with zeros where it is NaN and the first operand is zero."""
    return np.where(np.equal(x1, 0) & np.isnan(out), out.dtype.type(0), out)


# Zero times anything is zero or NaN. A sum of squares finds NaN faster than np.isnan.
def strong_multiply(x1: Any, x2: Any, /) -> Array:
    """Return ``x1 * x2``, but zero where x1 is zero."""
    out: Array = x1 * x2
    square = inner(out, out)
    return out if square == square else _with_strong_zeros(out, x1)


def strong_divide(x1: Any, x2: Any, /) -> Array:
    """Return ``x1 / x2``, but zero where x1 is zero."""
    out: Array = x1 / x2
    square = inner(out, out)
    return out if square == square else _with_strong_zeros(out, x1)


BY_DTYPE: Rows = {
    # For small arrays operators are faster than calls of the ufuncs.
    "add": {"iufc": operator.add},
    "divide": {"fc": operator.truediv},
    "floor_divide": {"iu": operator.floordiv, "f": _floor_divide},
    "multiply": {"iufc": operator.mul},
    "nextafter": {"f": np.nextafter, "float16": _half_nextafter},
    # np.positive refuses booleans, and returns scalars instead of 0-d arrays.
    "positive": {"biufc": operator.methodcaller("copy")},
    "sign": {"iuf": np.sign, "c": as_real_pairs(sign_parts)},
    "subtract": {"iufc": operator.sub},
}


def inplace(function: Callable[[Any, Any], Any]) -> Callable[[Array, Any], Array]:
    """Return an in-place operator that computes in a copy of a read-only array."""

    def inplace_operator(x1: Array, x2: Any) -> Array:
        result: Array
        try:
            result = function(x1, x2)
        except ValueError:
            # Checked only after a failure, so that writable arrays pay nothing.
            if x1.flags.writeable:
                raise
            check_unshared(x1.shape, x1.strides)
            result = function(x1.copy(), x2)
        return result

    return inplace_operator


def _into_first(x1: Array, x2: Any) -> Array:
    if are_surely_finite(x1, x2):
        np.floor_divide(x1, x2, x1)
    else:
        x1[...] = _floor_divide(x1, x2)
    return x1


IN_PLACE: Rows = {
    "add": {"iufc": inplace(operator.iadd)},
    "divide": {"fc": inplace(operator.itruediv)},
    "floor_divide": {"iu": inplace(operator.ifloordiv), "f": inplace(_into_first)},
    "multiply": {"iufc": inplace(operator.imul)},
    "remainder": {"iuf": inplace(operator.imod)},
    "subtract": {"iufc": inplace(operator.isub)},
}
