"""Reading parts of JAX arrays, and making arrays with other parts.

Index arrays with numbers out of range are not refused: JAX takes the nearest element, and writes
nothing there.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends.jax.namespace.promotion import Scalar

Key = tuple[Any, ...]


def getitem(x: jax.Array, key: Key, /) -> jax.Array:
    """Return part of an array."""
    part: jax.Array = x[_within(key, x.shape)]
    return part


def setitem(x: jax.Array, key: Key, value: Any, /) -> jax.Array:
    """Return a copy of an array in which a part has other values."""
    if isinstance(value, int) and x.dtype.kind in "iu":
        value = x.dtype.type(value)  # JAX takes it for its default integer, which may be too narrow
    if len(key) == 1 and _is_mask(key[0]) and np.ndim(value) == 0:
        # No shape depends on the mask's values so, and they need not be known (see `tracing`).
        return _masked(x, key[0], value)
    return x.at[_within(key, x.shape)].set(value)


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
    return jnp.take(x, indices, axis=0 if axis is None else axis)


def take_along_axis(x: jax.Array, indices: jax.Array, /, *, axis: int = -1) -> jax.Array:
    """Return elements at indices that are matched with x along an axis; other axes broadcast."""
    return jnp.take_along_axis(x, indices, axis=axis)
