"""Exponentials of NumPy arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from portarray.backends.common.finiteness import is_surely_finite
from portarray.backends.common.silence import silently
from portarray.backends.composed.exponential import expm1_parts, log1p_parts
from portarray.backends.numpy.namespace.arithmetic import as_real_pairs, inplace
from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]


def _is_half(x: Any) -> bool:
    if type(x) is float:
        return x == 0.5
    return type(x) is np.ndarray and x.size == 1 and x.item() == 0.5


def _pow(x1: Any, x2: Any, /) -> Any:
    """Compute ``x1 ** x2``; for a single exponent 0.5 NumPy computes the square root.

    That is NaN at -inf and -0.0 at -0.0, where powers are inf and 0.0.
    """
    if not _is_half(x2):
        return np.power(x1, x2)
    out = silently(np.power, x1, x2) + 0.0
    if is_surely_finite(out):
        return out
    low = x1 == -np.inf
    return np.where(low, np.inf, out) if low.any() else out


def _ipow(x1: Array, x2: Any) -> Array:
    if _is_half(x2):
        x1[...] = _pow(x1, x2)
    else:
        x1 **= x2
    return x1


BY_DTYPE: Rows = {
    "pow": {"f": _pow, "iuc": np.power},
    # np.expm1 is wrong at complex infinities and NaN.
    "expm1": {"f": np.expm1, "c": as_real_pairs(expm1_parts)},
    # np.log1p of complex numbers loses digits near 0.
    "log1p": {"f": np.log1p, "c": as_real_pairs(log1p_parts)},
}


def _signed_ipow(x1: Array, x2: Any) -> Array:
    """Compute ``x1 **= x2``; in place NumPy would write until the first negative power."""
    x1[...] = np.power(x1, x2)
    return x1


IN_PLACE: Rows = {
    "pow": {"i": inplace(_signed_ipow), "uc": inplace(operator.ipow), "f": inplace(_ipow)}
}
