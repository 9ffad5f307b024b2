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


def _signed_ipow(x1: Array, x2: Any) -> Array:
    """Compute ``x1 **= x2``; NumPy writes up to the first negative power, which it refuses."""
    x1[...] = np.power(x1, x2)
    return x1


INPLACE: Rows = {"pow": {"i": inplace(_signed_ipow), "ufc": inplace(operator.ipow)}}
