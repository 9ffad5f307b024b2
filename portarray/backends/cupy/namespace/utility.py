"""``all``, ``any`` and ``diff`` of arrays."""

from __future__ import annotations

import cupy
from cupy import ndarray

from portarray.backends.cupy.namespace.manipulation import together
from portarray.backends.cupy.namespace.statistical import Axes, normalize_axes
from portarray.backends.types import Rows

DIRECT: Rows = {
    "all": {"biufc": ndarray.all},
    "any": {"biufc": ndarray.any},
}


def all(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Return whether all elements are true; NaN is true."""
    axes = normalize_axes(x, axis)
    return x.all(axes, keepdims=keepdims) if axes else x != 0


def any(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Return whether at least one element is true; NaN is true."""
    axes = normalize_axes(x, axis)
    return x.any(axes, keepdims=keepdims) if axes else x != 0


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
    if n == 0:
        return x
    parts = [part for part in (prepend, x, append) if part is not None]
    joined = cupy.concatenate(together(parts), axis) if len(parts) > 1 else x
    return cupy.diff(joined, n, axis)
