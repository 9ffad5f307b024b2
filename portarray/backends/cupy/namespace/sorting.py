"""Stable sorting of arrays; NaN is last in ascending and first in descending order."""

from __future__ import annotations

import cupy
from cupy import ndarray

from portarray.backends.cupy.namespace import kernels


def sortable(x: ndarray) -> ndarray:
    """Return x with every NaN positive: CuPy sorts by the bits, which puts negative NaN first."""
    return kernels.one_nan(x) if x.dtype.kind == "f" else x


def argsort(
    x: ndarray, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> ndarray:
    """Return the indices that sort an array."""
    _check_axes("argsort", x)
    keys = sortable(x)
    if not descending:
        return cupy.argsort(keys, axis)
    # CuPy's sort is stable and ascending. For the reversed array it gives positions from the end,
    # with equal elements reversed.
    backwards = cupy.flip(cupy.argsort(cupy.flip(keys, axis), axis), axis)
    return (x.shape[axis] - 1) - backwards


def sort(
    x: ndarray, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> ndarray:
    """Return a sorted copy."""
    _check_axes("sort", x)
    keys = sortable(x)
    if not descending:
        return cupy.sort(keys, axis)
    # As in argsort: zeros of both signs keep their order.
    return cupy.flip(cupy.sort(cupy.flip(keys, axis), axis), axis)


def _check_axes(name: str, x: ndarray) -> None:
    if x.ndim == 0:
        raise ValueError(f"{name}: needs at least 1 axis")
