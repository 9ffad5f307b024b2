"""Sorting dpnp's arrays."""

from __future__ import annotations

import dpnp
from dpnp import ndarray


def argsort(
    x: ndarray, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> ndarray:
    """Return the indices that sort along an axis; the order of equal elements is kept."""
    return dpnp.argsort(x, axis=axis, descending=descending, stable=stable)


def sort(
    x: ndarray, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> ndarray:
    """Return the elements in order along an axis."""
    return dpnp.sort(x, axis=axis, descending=descending, stable=stable)
