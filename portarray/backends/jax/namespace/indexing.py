"""Reading parts of JAX arrays, and making arrays with other parts.

JAX takes the nearest element for index arrays with numbers out of bounds, and writes nothing there.
Elsewhere that is an IndexError, and so it is here wherever the numbers are known: in functions that
are traced (see `tracing`) it stays JAX's way.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray._dtypes.promotion import Scalar
from portarray.backends.common.keys import selected_shape, without_leading_ones
from portarray.backends.composed.indexing import check_within, integer_arrays
from portarray.backends.jax.namespace.creation import full_like
from portarray.backends.jax.tracing import is_traced
from portarray.backends.types import Rows

Key = tuple[Any, ...]
_ALL = slice(None)


def _getitem_plain(x: jax.Array, key: Any) -> jax.Array:
    """Return ``x[key]`` for keys as the user wrote them: integers, slices, None and Ellipsis."""
    shape, axis = x.shape, 0
    parts = key if key.__class__ is tuple else (key,)
    for place, part in enumerate(parts):
        if part is Ellipsis:
            later = parts[place + 1 :]
            axis = len(shape) - len(later) + later.count(None)
        elif part is not None:
            # JAX moves integers out of bounds to the end.
            if part.__class__ is int and not -shape[axis] <= part < shape[axis]:
                raise IndexError(f"{key!r} is out of bounds")
            axis += 1
    found: jax.Array = x[key]
    return found


PLAIN: Rows = {"getitem": {"biufc": _getitem_plain}}


def getitem(x: jax.Array, key: Key, /) -> jax.Array:
    """Return part of an array.

    Raises
    ------
    IndexError
        If an index array holds a number out of bounds.
    """
    _check_bounds(x.shape, key)
    part: jax.Array = x[_within(key, x.shape)]
    return part


def setitem(x: jax.Array, key: Key, value: Any, /) -> jax.Array:
    """Return a copy of an array in which a part has other values."""
    if all(part is Ellipsis or (type(part) is slice and part == _ALL) for part in key):
        if not hasattr(value, "dtype"):
            return full_like(x, value)
        if value.shape == x.shape and value.dtype == x.dtype:
            return value  # type: ignore[no-any-return]  # as arrays never change, it serves both
    if isinstance(value, int) and x.dtype.kind in "iu":
        value = x.dtype.type(value)  # JAX takes it for its default integer, which may be too narrow
    if len(key) == 1 and _is_mask(key[0]) and np.ndim(value) == 0:
        # No shape depends on the mask's values so, and they need not be known (see `tracing`).
        return _masked(x, key[0], value)
    _check_bounds(x.shape, key)
    if np.ndim(value):
        value = _spreading(value, x.shape, key)
    return x.at[_within(key, x.shape)].set(value)


def _spreading(value: jax.Array, shape: tuple[int, ...], key: Key) -> jax.Array:
    """Return assigned values without leading axes of length 1, which JAX refuses.

    Where nothing is selected it takes any shape.
    """
    short = without_leading_ones(value.shape)
    if value.size != 1 and not any(is_traced(part) for part in key):
        selected = selected_shape(shape, key, np.asarray) or ()
        if 0 in selected and np.broadcast_shapes(short, selected) != selected:
            raise ValueError(f"values of shape {value.shape} do not broadcast to {selected}")
    return value if short == value.shape else value.reshape(short)


def _check_bounds(shape: tuple[int, ...], key: Key) -> None:
    """Refuse index arrays with numbers out of bounds, as far as they are known."""
    for axis, indices in integer_arrays(key, len(shape), np.bool_):
        _check_within(indices, shape[axis], axis)


def _check_within(indices: jax.Array, size: int, axis: int) -> None:
    if not is_traced(indices):
        check_within(np.asarray(indices), size, axis)


def _is_mask(part: Any) -> bool:
    return isinstance(part, jax.Array) and part.dtype == np.bool_


def _masked(x: jax.Array, mask: jax.Array, value: Any) -> jax.Array:
    spread = mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim))
    return jnp.where(spread, value, x).astype(x.dtype)


def _within(key: Key, shape: tuple[int, ...]) -> Key:
    """Return a key whose slices have no number that JAX's index dtype may not hold."""
    return tuple(_clipped(part, shape) if isinstance(part, slice) else part for part in key)


def _clipped(part: slice, shape: tuple[int, ...]) -> slice:
    beyond = max(shape, default=0) + 1
    numbers = (part.start, part.stop, part.step)
    return slice(*(None if n is None else min(max(n, -beyond), beyond) for n in numbers))


def item(x: jax.Array, /) -> Scalar:
    """Return the only element as Python scalar."""
    value: Scalar = x.item()
    return value


def take(x: jax.Array, indices: jax.Array, /, *, axis: int | None = None) -> jax.Array:
    """Return elements at indices along an axis, for one or more axes of indices."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take needs an axis for an array of {x.ndim} axes")
    axis = 0 if axis is None else axis
    _check_within(indices, x.shape[axis], axis)
    if not x.shape[axis]:
        # Of nothing JAX makes one axis, however many the indices have.
        return jnp.reshape(x, x.shape[:axis] + indices.shape + x.shape[axis:][1:])
    return jnp.take(x, indices, axis=axis)


def take_along_axis(x: jax.Array, indices: jax.Array, /, *, axis: int = -1) -> jax.Array:
    """Return elements at indices that are matched with x along an axis; other axes broadcast."""
    _check_within(indices, x.shape[axis], axis)
    return jnp.take_along_axis(x, indices, axis=axis)


def add_at(x: jax.Array, indices: jax.Array, values: jax.Array, /) -> jax.Array:
    """Return x with ``values[k]`` added to row ``indices[k]``, for all k, repeated or not."""
    return x.at[indices].add(values)
