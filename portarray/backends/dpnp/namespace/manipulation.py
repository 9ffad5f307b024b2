"""Shapes of dpnp's arrays: joining, splitting, repeating, reordering."""

from __future__ import annotations

from collections.abc import Sequence

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import together

Axes = int | tuple[int, ...]

expand_dims = dpnp.expand_dims
moveaxis = dpnp.moveaxis
permute_dims = dpnp.permute_dims
squeeze = dpnp.squeeze


def broadcast_arrays(*arrays: ndarray) -> tuple[ndarray, ...]:
    """Return views of one common shape."""
    return tuple(map(_read_only, dpnp.broadcast_arrays(*arrays))) if arrays else ()


def broadcast_to(x: ndarray, /, shape: tuple[int, ...]) -> ndarray:
    """Return a view of a shape that x broadcasts to."""
    return _read_only(dpnp.broadcast_to(x, tuple(shape)))


def _read_only(x: ndarray) -> ndarray:
    # Several elements are one in memory; dpnp would write them all.
    x.flags.writable = False
    return x


def concat(arrays: tuple[ndarray, ...] | list[ndarray], /, *, axis: int | None = 0) -> ndarray:
    """Join arrays along an axis; flattened ones for None."""
    return dpnp.concat(together(arrays), axis=axis)


def flip(x: ndarray, /, *, axis: Axes | None = None) -> ndarray:
    """Reverse the order along axes, all of them for None."""
    return dpnp.flip(x, axis=axis)


def repeat(x: ndarray, repeats: int | ndarray, /, *, axis: int | None = None) -> ndarray:
    """Repeat each element along an axis; of the flattened array for None."""
    return dpnp.repeat(x, repeats, axis=axis)


def reshape(x: ndarray, /, shape: tuple[int, ...], *, copy: bool | None = None) -> ndarray:
    """Return the elements in another shape: a view where there is one, unless ``copy=True``.

    Raises
    ------
    ValueError
        If ``copy=False`` and a view cannot be made.
    """
    return dpnp.reshape(x, tuple(shape), copy=copy)


def roll(x: ndarray, /, shift: Axes, *, axis: Axes | None = None) -> ndarray:
    """Shift elements along axes, what leaves comes back at the other end."""
    return dpnp.roll(x, shift, axis=axis)


def stack(arrays: tuple[ndarray, ...] | list[ndarray], /, *, axis: int = 0) -> ndarray:
    """Join arrays of one shape along a new axis."""
    return dpnp.stack(together(arrays), axis=axis)


def tile(x: ndarray, repetitions: Sequence[int], /) -> ndarray:
    """Lay copies of an array side by side."""
    return dpnp.tile(x, tuple(repetitions))


def unstack(x: ndarray, /, *, axis: int = 0) -> tuple[ndarray, ...]:
    """Split into views along an axis, which goes."""
    return tuple(dpnp.unstack(x, axis=axis))
