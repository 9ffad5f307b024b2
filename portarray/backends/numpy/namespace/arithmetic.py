"""Arithmetic on NumPy arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from portarray.backends.composed.arithmetic import sign_parts
from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]


def by_parts(function: Callable[..., tuple[Any, Any]]) -> Callable[[Array], Array]:
    """Return a function of complex arrays made of one of real and imaginary parts."""

    def by_parts(x: Array, /) -> Array:
        out = np.empty_like(x)
        with np.errstate(all="ignore"):
            out.real, out.imag = function(np, x.real, x.imag)
        return out

    return by_parts


def _floor_divide(x1: Any, x2: Any, /) -> Array:
    """Divide and round down; NumPy's own gives NaN or -1 where an operand is infinite."""
    quotient: Array = np.floor_divide(x1, x2)
    infinite = np.isinf(x1) | np.isinf(x2)
    if infinite.any():
        quotient = np.where(infinite, np.floor(np.divide(x1, x2)), quotient)
    return quotient


def _half_nextafter(x1: Any, x2: Any, /) -> Array:
    """Return x2 where both are equal; NumPy's own keeps x1's sign of zero."""
    out: Array = np.where(x1 == x2, x2, np.nextafter(x1, x2))
    return out


ROWS: Rows = {
    # NumPy reaches its ufuncs faster through operators than through calls; small arrays notice.
    "add": {"iufc": operator.add},
    "divide": {"fc": operator.truediv},
    "floor_divide": {"iu": operator.floordiv, "f": _floor_divide},
    "multiply": {"iufc": operator.mul},
    "nextafter": {"f": np.nextafter, "float16": _half_nextafter},
    # NumPy's own refuses booleans; results without axes are its scalars, not ndarrays.
    "positive": {"biufc": operator.methodcaller("copy")},
    "sign": {"iuf": np.sign, "c": by_parts(sign_parts)},
    "subtract": {"iufc": operator.sub},
}


def inplace(function: Callable[[Any, Any], Any]) -> Callable[[Array, Any], Array]:
    """Return an in-place operator that computes in a copy of what may not be written."""

    def inplace_operator(x1: Array, x2: Any) -> Array:
        result: Array
        try:
            result = function(x1, x2)
        except ValueError:
            # Looked at here, so that arrays which may be written pay nothing.
            if x1.flags.writeable:
                raise
            result = function(x1.copy(), x2)
        return result

    return inplace_operator


def _into_first(x1: Array, x2: Any) -> Array:
    x1[...] = _floor_divide(x1, x2)
    return x1


INPLACE: Rows = {
    "add": {"iufc": inplace(operator.iadd)},
    "divide": {"fc": inplace(operator.itruediv)},
    "floor_divide": {"iu": inplace(operator.ifloordiv), "f": inplace(_into_first)},
    "multiply": {"iufc": inplace(operator.imul)},
    "remainder": {"iuf": inplace(operator.imod)},
    "subtract": {"iufc": inplace(operator.isub)},
}
