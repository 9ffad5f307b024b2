"""Exponentials of NumPy arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from portarray.backends.composed.exponential import expm1_parts, log1p_parts
from portarray.backends.numpy.namespace.arithmetic import inplace
from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]


def _by_parts(function: Callable[..., tuple[Any, Any]]) -> Callable[[Array], Array]:
    """Return a function of complex arrays made of one of real and imaginary parts."""

    def by_parts(x: Array, /) -> Array:
        out = np.empty_like(x)
        with np.errstate(all="ignore"):
            out.real, out.imag = function(np, x.real, x.imag)
        return out

    return by_parts


ROWS: Rows = {
    # NumPy's own is wrong at complex infinities and NaN.
    "expm1": {"f": np.expm1, "c": _by_parts(expm1_parts)},
    # NumPy's own loses digits near 0.
    "log1p": {"f": np.log1p, "c": _by_parts(log1p_parts)},
}


def _signed_ipow(x1: Array, x2: Any) -> Array:
    """Compute ``x1 **= x2``; NumPy writes up to the first negative power, which it refuses."""
    x1[...] = np.power(x1, x2)
    return x1


INPLACE: Rows = {"pow": {"i": inplace(_signed_ipow), "ufc": inplace(operator.ipow)}}
