"""Indexing of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]


def _basic(x: Array, key: Any) -> Any:
    """Return ``x[key]`` as an array, for a key without arrays."""
    if type(key) is tuple:
        return x[key] if Ellipsis in key else x[(*key, ...)]
    return x[key, ...]


PLAIN: Rows = {"getitem": {"biufc": _basic}}


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
