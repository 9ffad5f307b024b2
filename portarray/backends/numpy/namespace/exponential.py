"""Exponentials of NumPy arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from portarray.backends.composed.exponential import expm1_parts, log1p_parts
from portarray.backends.numpy.namespace.arithmetic import by_parts, inplace
from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]


def _is_half(x: Any) -> bool:
    if type(x) is float:
        return x == 0.5
    return type(x) is np.ndarray and x.size == 1 and x.item() == 0.5


def _pow(x1: Any, x2: Any, /) -> Any:
    """Compute ``x1 ** x2``; of one exponent 0.5 NumPy takes the square root.

    That is NaN at -inf and -0.0 at -0.0, where powers are inf and 0.0.
    """
    if not _is_half(x2):
        return np.power(x1, x2)
    with np.errstate(invalid="ignore"):
        out = np.power(x1, x2) + 0.0
    low = x1 == -np.inf
    return np.where(low, np.inf, out) if np.any(low) else out


def _ipow(x1: Array, x2: Any) -> Array:
    if _is_half(x2):
        x1[...] = _pow(x1, x2)
    else:
        x1 **= x2
    return x1


ROWS: Rows = {
    "pow": {"f": _pow, "iuc": np.power},
    # NumPy's own is wrong at complex infinities and NaN.
    "expm1": {"f": np.expm1, "c": by_parts(expm1_parts)},
    # NumPy's own loses digits near 0.
    "log1p": {"f": np.log1p, "c": by_parts(log1p_parts)},
}


def _signed_ipow(x1: Array, x2: Any) -> Array:
    """Compute ``x1 **= x2``; NumPy writes up to the first negative power, which it refuses."""
    x1[...] = np.power(x1, x2)
    return x1


INPLACE: Rows = {
    "pow": {"i": inplace(_signed_ipow), "uc": inplace(operator.ipow), "f": inplace(_ipow)}
}
