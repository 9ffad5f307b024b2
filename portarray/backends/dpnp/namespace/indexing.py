"""Reading and writing parts of dpnp's arrays."""

from __future__ import annotations

from typing import Any

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import Scalar, cast

Key = tuple[Any, ...]


def getitem(x: ndarray, key: Key, /) -> ndarray:
    """Return part of an array: a view where key holds no array."""
    return x[key]


def setitem(x: ndarray, key: Key, value: Any, /) -> ndarray:
    """Write into part of an array, and return that array."""
    if isinstance(value, ndarray):
        value = cast(value, x.dtype)
    x[key] = value
    return x


def item(x: ndarray, /) -> Scalar:
    """Return the only element as Python scalar."""
    value: Scalar = x.item()
    return value


def take(x: ndarray, indices: ndarray, /, *, axis: int | None = None) -> ndarray:
    """Return elements at indices along an axis, for one or more axes of indices."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take needs an axis for an array of {x.ndim} axes")
    return dpnp.take(x, indices, axis=axis)


def take_along_axis(x: ndarray, indices: ndarray, /, *, axis: int = -1) -> ndarray:
    """Return elements at indices that are matched with x along an axis; other axes broadcast."""
    return dpnp.take_along_axis(x, indices, axis=axis)
