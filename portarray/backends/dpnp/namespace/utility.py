"""Tests of whole arrays, and differences."""

from __future__ import annotations

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import cast, promote

Axes = int | tuple[int, ...]


def all(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Tell whether all elements are true; NaN is."""
    return dpnp.all(x, axis=axis, keepdims=keepdims)


def any(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Tell whether at least one element is true; NaN is."""
    return dpnp.any(x, axis=axis, keepdims=keepdims)


def diff(
    x: ndarray,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: ndarray | None = None,
    append: ndarray | None = None,
) -> ndarray:
    """Return n-th differences along an axis."""
    parts = {"prepend": prepend, "append": append}
    given = {key: part for key, part in parts.items() if part is not None}
    dtype = promote(x.dtype, *[part.dtype for part in given.values()])
    return dpnp.diff(
        cast(x, dtype), n=n, axis=axis, **{key: cast(part, dtype) for key, part in given.items()}
    )
