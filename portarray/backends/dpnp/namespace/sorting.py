"""Sorting dpnp's arrays."""

from __future__ import annotations

import dpnp.tensor as dpt
from dpnp import ndarray


def argsort(
    x: ndarray, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> ndarray:
    """Return the indices that sort along an axis; the order of equal elements is kept."""
    found = dpt.argsort(x.get_array(), axis=axis, descending=descending, stable=stable)
    return ndarray._create_from_usm_ndarray(found)


def sort(
    x: ndarray, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> ndarray:
    """Return the elements in order along an axis."""
    found = dpt.sort(x.get_array(), axis=axis, descending=descending, stable=stable)
    return ndarray._create_from_usm_ndarray(found)
