"""Exponentials of NumPy arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from portarray.backends.composed.exponential import expm1_parts
from portarray.backends.numpy.namespace.arithmetic import inplace
from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]


def _complex_expm1(x: Array, /) -> Array:
    """Return ``exp(x) - 1``; NumPy's own is wrong at complex infinities and NaN."""
    out = np.empty_like(x)
    with np.errstate(all="ignore"):
        out.real, out.imag = expm1_parts(np, x.real, x.imag)
    return out


ROWS: Rows = {"expm1": {"f": np.expm1, "c": _complex_expm1}}
INPLACE: Rows = {"pow": {"iufc": inplace(operator.ipow)}}
