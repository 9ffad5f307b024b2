"""Where in dpnp's arrays something is."""

from __future__ import annotations

from typing import Literal

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.scalars import pair
from portarray.backends.promotion import Scalar

argmax = dpnp.argmax
argmin = dpnp.argmin
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
    return dpnp.where(condition, *pair(x1, x2))
