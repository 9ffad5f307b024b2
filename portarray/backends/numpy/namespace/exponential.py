"""Exponentials of NumPy arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from portarray.backends.composed.exponential import expm1_parts, log1p_parts
from portarray.backends.numpy.namespace.arithmetic import by_parts, inplace
from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]


ROWS: Rows = {
    # NumPy's own is wrong at complex infinities and NaN.
    "expm1": {"f": np.expm1, "c": by_parts(expm1_parts)},
    # NumPy's own loses digits near 0.
    "log1p": {"f": np.log1p, "c": by_parts(log1p_parts)},
}


def _signed_ipow(x1: Array, x2: Any) -> Array:
    """Compute ``x1 **= x2``; NumPy writes up to the first negative power, which it refuses."""
    x1[...] = np.power(x1, x2)
    return x1


INPLACE: Rows = {"pow": {"i": inplace(_signed_ipow), "ufc": inplace(operator.ipow)}}
