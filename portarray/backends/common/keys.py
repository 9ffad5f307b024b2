"""Rules for index keys that libraries and portarray's own array share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

__all__ = [
    "ALL",
    "check_bounds",
    "check_unshared",
    "count_axes",
    "expand_ellipsis",
    "selected_shape",
    "separates",
    "split_key",
    "without_leading_ones",
]

ALL = slice(None)


def check_unshared(shape: Sequence[int], strides: Sequence[int]) -> None:
    """Raise if elements of an array share memory, so that a write would change several."""
    repeated = any(step == 0 and length > 1 for length, step in zip(shape, strides, strict=True))
    if repeated and 0 not in shape:
        raise ValueError(
            f"assignment: several elements of the array of shape {tuple(shape)} share memory, as "
            f"after broadcast_to\nHint: write into a copy, x.copy()"
        )


def selected_shape(
    shape: tuple[int, ...], key: tuple[Any, ...], to_host: Callable[[Any], np.ndarray[Any, Any]]
) -> tuple[int, ...] | None:
    """Return the shape of what a key selects, or None if it is out of bounds.

    NumPy indexes elements without bytes.

    Parameters
    ----------
    shape : tuple of int
        Shape of the indexed array.
    key : tuple
        Integers, slices, None, an ellipsis and native arrays.
    to_host : callable
        Returns the values of a mask as a NumPy array; integer arrays are not read.

    Raises
    ------
    IndexError
        If the index arrays do not broadcast together.
    """
    host_key = [
        index
        if not hasattr(index, "dtype")
        else to_host(index)
        if "bool" in str(index.dtype)
        else np.zeros(tuple(index.shape), np.intp)
        for index in key
    ]
    array_shapes = [
        (int(np.count_nonzero(index)),) if index.dtype == bool else index.shape
        for index in host_key
        if isinstance(index, np.ndarray)
    ]
    try:
        np.broadcast_shapes(*array_shapes)
    except ValueError:
        raise IndexError(
            f"indexing: index arrays of shapes {', '.join(map(str, array_shapes))} cannot be "
            f"broadcast"
        ) from None
    elements = np.broadcast_to(np.zeros((), "V0"), shape)
    try:
        return tuple(elements[tuple(host_key)].shape)
    except IndexError:  # an axis of length 0
        return None


def without_leading_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape as broadcasting sees it."""
    return shape[next((n for n, size in enumerate(shape) if size != 1), len(shape)) :]


def separates(left: tuple[Any, ...], right: tuple[Any, ...], array_type: type) -> bool:
    """Return whether index arrays are on both sides of an entry of a key.

    Next to arrays integers count as arrays. In NumPy an ellipsis separates them even if it stands
    for no axis: the axes of the arrays then come first in the result.
    """
    kinds = (int, array_type)
    return (
        any(isinstance(index, kinds) for index in left)
        and any(isinstance(index, kinds) for index in right)
        and any(isinstance(index, array_type) for index in (*left, *right))
    )


def count_axes(index: Any, boolean: Any) -> int:
    """Return how many axes an entry of a key indexes; masks have the dtype ``boolean``."""
    if index is None or index is Ellipsis:
        return 0
    return int(index.ndim) if hasattr(index, "dtype") and index.dtype == boolean else 1


def check_bounds(
    shape: tuple[int, ...],
    key: tuple[Any, ...],
    boolean: Any,
    check: Callable[[Any, int, int], object],
) -> None:
    """Call ``check(indices, size, axis)`` for each integer array in a key."""
    for axis, indices in _integer_arrays(key, len(shape), boolean):
        check(indices, shape[axis], axis)


def _integer_arrays(key: tuple[Any, ...], ndim: int, boolean: Any) -> Iterator[tuple[int, Any]]:
    if not any(hasattr(index, "dtype") for index in key):
        return
    axis = 0
    for position, index in enumerate(key):
        if index is Ellipsis:
            axis = ndim - sum(count_axes(later, boolean) for later in key[position + 1 :])
            continue
        if hasattr(index, "dtype") and index.dtype != boolean:
            yield axis, index
        axis += count_axes(index, boolean)


def expand_ellipsis(
    key: tuple[Any, ...], ndim: int, array_type: type, boolean: Any
) -> tuple[Any, ...]:
    """Return a key that indexes every axis, with slices in place of the ellipsis.

    An ellipsis that stands for no axis stays if it separates index arrays.
    """
    position = next((n for n, index in enumerate(key) if index is Ellipsis), len(key))
    left, right = key[:position], key[position + 1 :]
    missing = ndim - sum(count_axes(index, boolean) for index in (*left, *right))
    if not missing and separates(left, right, array_type):
        return key
    return (*left, *[ALL] * missing, *right)


def split_key(key: tuple[Any, ...], array_type: type, boolean: Any) -> tuple[list[Any], list[Any]]:
    """Split an expanded key into a basic part, which gives a view, and the indices of its axes.

    The first list has integers, slices and None; the second one has ``ALL``, an integer, an integer
    array or a mask for each axis of the view, where a mask stands for all axes that it indexes.
    Next to arrays integers are in the second list, as NumPy treats them as arrays. An ellipsis and
    a 0-d mask index an axis of length 1 that the first list inserts.
    """
    has_arrays = any(isinstance(index, array_type) for index in key)
    basic: list[Any] = []
    advanced: list[Any] = []
    for index in key:
        if index is None or isinstance(index, slice):
            basic.append(index)
            advanced.append(ALL)
        elif not has_arrays:
            basic.append(index)
        else:
            basic += [ALL] * count_axes(index, boolean) or [None]
            advanced.append(index)
    return basic, advanced
