"""Rules about the keys of indexing that libraries and portarray's own array share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["selected_shape", "separates", "without_leading_ones"]


def selected_shape(
    shape: tuple[int, ...], key: tuple[Any, ...], to_host: Callable[[Any], np.ndarray[Any, Any]]
) -> tuple[int, ...] | None:
    """Return the shape of what a key selects, or None if it is out of bounds.

    By NumPy, on elements without bytes.

    Parameters
    ----------
    shape : tuple of int
        Shape of the indexed array.
    key : tuple
        Integers, slices, None, an ellipsis and native arrays.
    to_host : callable
        Returns the values of a mask as a NumPy array; those of integer arrays are not looked at.

    Raises
    ------
    IndexError
        If the index arrays do not broadcast together.
    """
    parts = [
        part
        if not hasattr(part, "dtype")
        else to_host(part)
        if "bool" in str(part.dtype)
        else np.zeros(tuple(part.shape), np.intp)
        for part in key
    ]
    counted = [
        (int(np.count_nonzero(part)),) if part.dtype == bool else part.shape
        for part in parts
        if isinstance(part, np.ndarray)
    ]
    try:
        np.broadcast_shapes(*counted)
    except ValueError:
        raise IndexError(
            f"indexing: index arrays of shapes {', '.join(map(str, counted))} do not broadcast"
        ) from None
    elements = np.broadcast_to(np.zeros((), "V0"), shape)
    try:
        selected: tuple[int, ...] = elements[tuple(parts)].shape
    except IndexError:  # of an axis of length 0
        return None
    return selected


def without_leading_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape as broadcasting sees it."""
    return shape[next((n for n, size in enumerate(shape) if size != 1), len(shape)) :]


def separates(left: tuple[Any, ...], right: tuple[Any, ...], array_type: type) -> bool:
    """Return whether the key between two parts separates index arrays.

    Beside arrays integers count as such. In NumPy an ellipsis there separates them even if it
    expands to no axes: the axes of the arrays then come first in the result.
    """
    kinds = (int, array_type)
    return (
        any(isinstance(part, kinds) for part in left)
        and any(isinstance(part, kinds) for part in right)
        and any(isinstance(part, array_type) for part in (*left, *right))
    )
