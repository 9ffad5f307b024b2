"""Indexing of JAX arrays; assignments return new arrays.

JAX reads the nearest element for indices out of bounds, and writes nothing there. Here they raise
IndexError where their values are known; in traced functions (see `tracing`) JAX's behaviour stays.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray._dtypes.promotion import Scalar
from portarray.backends.common.keys import ALL, check_bounds, selected_shape, without_leading_ones
from portarray.backends.composed.indexing import check_within, take_axis
from portarray.backends.jax.namespace.creation import full_like
from portarray.backends.jax.tracing import is_traced
from portarray.backends.types import Rows

Key = tuple[Any, ...]


def _getitem_plain(x: jax.Array, key: Any) -> jax.Array:
    """Return ``x[key]`` for a key of integers, slices, None and Ellipsis."""
    shape, axis = x.shape, 0
    parts = key if key.__class__ is tuple else (key,)
    for position, part in enumerate(parts):
        if part is Ellipsis:
            later = parts[position + 1 :]
            axis = len(shape) - len(later) + later.count(None)
        elif part is not None:
            # JAX would read the nearest element.
            if part.__class__ is int and not -shape[axis] <= part < shape[axis]:
                raise IndexError(f"{key!r} is out of bounds")
            axis += 1
    item: jax.Array = x[key]
    return item


DIRECT: Rows = {"getitem": {"biufc": _getitem_plain}}


def getitem(x: jax.Array, key: Key, /) -> jax.Array:
    """Return part of an array."""
    check_bounds(x.shape, key, np.bool_, _check_within)
    item: jax.Array = x[_clip_slices(key, x.shape)]
    return item


def setitem(x: jax.Array, key: Key, value: Any, /) -> jax.Array:
    """Return a copy of an array in which a part has other values."""
    if all(part is Ellipsis or (type(part) is slice and part == ALL) for part in key):
        if not hasattr(value, "dtype"):
            return full_like(x, value)
        if value.shape == x.shape and value.dtype == x.dtype:
            return value  # type: ignore[no-any-return]  # arrays are immutable: sharing is safe
    if isinstance(value, int) and x.dtype.kind in "iu":
        value = x.dtype.type(value)  # JAX's default integer dtype may be too narrow
    if len(key) == 1 and getattr(key[0], "dtype", None) == np.bool_ and np.ndim(value) == 0:
        # No shape depends on the mask's values here, so the mask may be traced.
        mask = key[0].reshape(key[0].shape + (1,) * (x.ndim - key[0].ndim))
        return jnp.where(mask, value, x).astype(x.dtype)
    check_bounds(x.shape, key, np.bool_, _check_within)
    if np.ndim(value):
        value = _without_leading_ones(value, x.shape, key)
    return x.at[_clip_slices(key, x.shape)].set(value)


def _without_leading_ones(value: jax.Array, shape: tuple[int, ...], key: Key) -> jax.Array:
    """Return assigned values without leading axes of length 1, which JAX refuses.

    JAX accepts any shape where nothing is selected: such shapes are checked here.
    """
    trimmed = without_leading_ones(value.shape)
    if value.size != 1 and not any(is_traced(part) for part in key):
        selected = selected_shape(shape, key, np.asarray) or ()
        if 0 in selected and np.broadcast_shapes(trimmed, selected) != selected:
            raise ValueError(f"values of shape {value.shape} cannot be broadcast to {selected}")
    return value if trimmed == value.shape else value.reshape(trimmed)


def _check_within(indices: jax.Array, size: int, axis: int) -> None:
    """Raise IndexError for indices out of bounds, unless they are traced."""
    if not is_traced(indices):
        check_within(np.asarray(indices), size, axis)


def _clip_slices(key: Key, shape: tuple[int, ...]) -> Key:
    """Return a key whose slices have bounds that JAX's index dtype can hold."""
    limit = max(shape, default=0) + 1

    def clip(bound: int | None) -> int | None:
        return None if bound is None else min(max(bound, -limit), limit)

    return tuple(
        slice(clip(part.start), clip(part.stop), clip(part.step))
        if isinstance(part, slice)
        else part
        for part in key
    )


def item(x: jax.Array, /) -> Scalar:
    """Return the only element as Python scalar."""
    value: Scalar = x.item()
    return value


def take(x: jax.Array, indices: jax.Array, /, *, axis: int | None = None) -> jax.Array:
    """Return elements at indices along an axis, for one or more axes of indices."""
    axis = take_axis(x, axis)
    _check_within(indices, x.shape[axis], axis)
    if not x.shape[axis]:
        # From empty axes JAX returns one axis, however many axes the indices have.
        return jnp.reshape(x, x.shape[:axis] + indices.shape + x.shape[axis:][1:])
    return jnp.take(x, indices, axis=axis)


def take_along_axis(x: jax.Array, indices: jax.Array, /, *, axis: int = -1) -> jax.Array:
    """Return elements at indices that are matched with x along an axis; other axes broadcast."""
    _check_within(indices, x.shape[axis], axis)
    return jnp.take_along_axis(x, indices, axis=axis)


def add_at(x: jax.Array, indices: jax.Array, values: jax.Array, /) -> jax.Array:
    """Return x with ``values[k]`` added to row ``indices[k]``, for all k, repeated or not."""
    if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
        wide = x.astype(jnp.float32).at[indices].add(values.astype(jnp.float32))
        return wide.astype(x.dtype)
    return x.at[indices].add(values)


def max_at(x: jax.Array, indices: jax.Array, values: jax.Array, /) -> jax.Array:
    """Return x with the larger of row ``indices[k]`` and ``values[k]``."""
    return x.at[indices].max(values)


def min_at(x: jax.Array, indices: jax.Array, values: jax.Array, /) -> jax.Array:
    """Return x with the smaller of row ``indices[k]`` and ``values[k]``."""
    return x.at[indices].min(values)


def multiply_at(x: jax.Array, indices: jax.Array, values: jax.Array, /) -> jax.Array:
    """Return x with row ``indices[k]`` multiplied by ``values[k]``."""
    return x.at[indices].multiply(values)
