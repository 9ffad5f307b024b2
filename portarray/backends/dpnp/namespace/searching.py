"""Searching dpnp arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import dpnp
from dpnp import ndarray

from portarray._dtypes.promotion import Scalar
from portarray.backends.dpnp.namespace.scalars import pair


def _first_nan(dpnp_function: Callable[..., ndarray]) -> Callable[..., ndarray]:
    """Return an ``argmax`` or ``argmin`` that finds the first NaN; dpnp finds any."""

    def search(x: ndarray, /, *, axis: int | None = None, keepdims: bool = False) -> ndarray:
        index = dpnp_function(x, axis=axis, keepdims=keepdims)
        if x.dtype.kind != "f":
            return index
        missing = dpnp.isnan(x)
        some = dpnp.any(missing, axis=axis, keepdims=keepdims)
        return dpnp.where(some, dpnp.argmax(missing, axis=axis, keepdims=keepdims), index)

    return search


argmax = _first_nan(dpnp.argmax)
argmin = _first_nan(dpnp.argmin)
count_nonzero = dpnp.count_nonzero
nonzero = dpnp.nonzero


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
    # dpnp reads other memory if one operand is broadcast and others have negative strides.
    operands = (condition, *pair(x1, x2))
    return dpnp.where(*[x.copy() if min(x.strides, default=0) < 0 else x for x in operands])
