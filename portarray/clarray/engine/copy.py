"""Copies and casts."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray.array import Array
from portarray.clarray.engine.elementwise import apply
from portarray.clarray.engine.operation import Operation, every

__all__ = ["assign", "cast", "contiguous", "copy"]

_IDENTITY = Operation("copy", every("a"))


def copy(x: Array) -> Array:
    """Return a new C-contiguous array with the same elements."""
    return apply(_IDENTITY, (x,), x.dtype, x.dtype)


def contiguous(x: Array) -> Array:
    """Return the array itself where it is C-contiguous, a copy elsewhere."""
    return x if x.contiguous else copy(x)


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return a new array of another dtype."""
    return apply(_IDENTITY, (x,), dtype, dtype)


def assign(out: Array, value: Array | complex) -> None:
    """Write a value, broadcast and cast, into an array. The two may overlap in memory."""
    if isinstance(value, Array) and value.storage is out.storage:
        value = copy(value)
    apply(_IDENTITY, (value,), out.dtype, out.dtype, out=out)
