"""Comparisons, what is finite, and limits."""

from __future__ import annotations

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.scalars import fixed, taking_scalars
from portarray.backends.types import Rows

isfinite = cupy.isfinite
isinf = cupy.isinf
isnan = cupy.isnan

PLAIN: Rows = {
    "equal": {"biufc": cupy.equal},
    "greater": {"iuf": cupy.greater},
    "greater_equal": {"iuf": cupy.greater_equal},
    "less": {"iuf": cupy.less},
    "less_equal": {"iuf": cupy.less_equal},
    "maximum": {"iuf": cupy.maximum},
    "minimum": {"iuf": cupy.minimum},
    "not_equal": {"biufc": cupy.not_equal},
}
ROWS = taking_scalars(PLAIN)


def clip(
    x: ndarray, /, min: ndarray | float | None = None, max: ndarray | float | None = None
) -> ndarray:
    """Limit values to a range; the result keeps x's dtype.

    Bounds broadcast with x. A bound beyond what x's integer dtype holds limits nothing. NaN in x
    or in a bound gives NaN.
    """
    low = _bound(x, min, lower=True)
    high = _bound(x, max, lower=False)
    if low is not None and high is not None:
        return kernels.clip(x, low, high)
    if low is not None:
        return cupy.maximum(x, low)
    return x.copy() if high is None else cupy.minimum(x, high)


def _bound(x: ndarray, bound: ndarray | float | None, *, lower: bool) -> ndarray | np.generic:
    """Return a bound in x's dtype, None where it limits nothing."""
    if bound is None:
        return None
    if isinstance(bound, ndarray):
        return bound.astype(x.dtype, copy=False)
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        if (bound <= limits.min) if lower else (bound >= limits.max):
            return None
        if not limits.min <= bound <= limits.max:
            raise OverflowError(
                f"clip's bound {bound} leaves no value of {x.dtype}, "
                f"whose range is {limits.min} to {limits.max}"
            )
    return fixed(bound, x.dtype)
