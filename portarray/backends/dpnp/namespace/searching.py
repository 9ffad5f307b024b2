"""Where in dpnp's arrays something is."""

from __future__ import annotations

from typing import Literal

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import Scalar, pair

Axes = int | tuple[int, ...]

nonzero = dpnp.nonzero


def argmax(x: ndarray, /, *, axis: int | None = None, keepdims: bool = False) -> ndarray:
    """Return the index of the first largest element; of the first NaN where there is one."""
    return dpnp.argmax(x, axis=axis, keepdims=keepdims)


def argmin(x: ndarray, /, *, axis: int | None = None, keepdims: bool = False) -> ndarray:
    """Return the index of the first smallest element; of the first NaN where there is one."""
    return dpnp.argmin(x, axis=axis, keepdims=keepdims)


def count_nonzero(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Count the elements that are not 0."""
    return dpnp.count_nonzero(x, axis=axis, keepdims=keepdims)


def searchsorted(
    x1: ndarray,
    x2: ndarray | Scalar,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: ndarray | None = None,
) -> ndarray:
    """Return where elements would be inserted into a sorted array; NaN sorts last."""
    return dpnp.searchsorted(*pair(x1, x2), side=side, sorter=sorter)


def where(condition: ndarray, x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Choose from x1 where the condition is true, else from x2."""
    return dpnp.where(condition, *pair(x1, x2))
