"""Indexing of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat.numpy import take_along_axis

__all__ = ["getitem", "item", "setitem", "take", "take_along_axis"]

Array = np.ndarray[Any, Any]

take = np.take


def getitem(x: Array, key: tuple[Any, ...]) -> Array:
    """Return ``x[key]`` as an array; a trailing ellipsis keeps NumPy from returning a scalar."""
    for part in key:
        if part is Ellipsis:
            return np.asarray(x[key])
    return x[(*key, Ellipsis)]


def item(x: Array) -> Any:
    """Return the one element as a Python scalar."""
    return x.item()


def setitem(x: Array, key: tuple[Any, ...], value: Any) -> Array:
    """Do ``x[key] = value`` and return x; a copy of x in its place where x may not be written."""
    try:
        x[key] = value
    except ValueError:
        # Looked at here, so that arrays which may be written pay nothing.
        if x.flags.writeable:
            raise
        x = x.copy()
        x[key] = value
    return x
