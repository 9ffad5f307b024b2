"""Comparisons, tests for finite numbers, and ``clip``."""

from __future__ import annotations

from typing import Any

import cupy
from cupy import ndarray

from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.scalars import fixed, taking_scalars
from portarray.backends.types import Rows

isfinite = cupy.isfinite
isinf = cupy.isinf
isnan = cupy.isnan

DIRECT: Rows = {
    "equal": {"biufc": cupy.equal},
    "greater": {"iuf": cupy.greater},
    "greater_equal": {"iuf": cupy.greater_equal},
    "less": {"iuf": cupy.less},
    "less_equal": {"iuf": cupy.less_equal},
    "maximum": {"iuf": cupy.maximum},
    "minimum": {"iuf": cupy.minimum},
    "not_equal": {"biufc": cupy.not_equal},
}
BY_DTYPE = taking_scalars(DIRECT)


def clip(
    x: ndarray, /, min: ndarray | float | None = None, max: ndarray | float | None = None
) -> ndarray:
    """Limit values to a range; the result keeps x's dtype.

    Bounds broadcast with x, and have its dtype or are scalars that it can hold. NaN in x or in a
    bound gives NaN.
    """
    low, high = _bound(x, min), _bound(x, max)
    if low is not None and high is not None:
        return kernels.clip(x, low, high)
    if low is not None:
        return cupy.maximum(x, low)
    return x.copy() if high is None else cupy.minimum(x, high)


def _bound(x: ndarray, bound: ndarray | float | None) -> Any:
    return bound if bound is None or isinstance(bound, ndarray) else fixed(bound, x.dtype)
