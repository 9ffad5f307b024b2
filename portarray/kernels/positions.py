"""Rotary position embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import dispatch, dtypes
from portarray._array.kernel import Kernel
from portarray.kernels import generic

if TYPE_CHECKING:
    from portarray._array.array import Array

__all__ = ["rope", "rope_tables"]

_ROPE = Kernel("rope", generic.rope)
_ROPE_TABLES = Kernel("rope_tables", generic.rope_tables)


def rope(
    x: Array,
    positions: Array | None = None,
    /,
    *,
    tables: tuple[Array, Array] | None = None,
    theta: float = 10000.0,
    interleaved: bool = False,
) -> Array:
    """Rotate pairs of features by angles that grow with the position."""
    return _ROPE(x, positions, tables=tables, theta=theta, interleaved=interleaved)


def rope_tables(
    positions: Array, dimensions: int, /, *, theta: float = 10000.0, dtype: object = None
) -> tuple[Array, Array]:
    """Return the cosines and sines that :func:`rope` takes as ``tables``."""
    device = positions.device
    wanted = dispatch.default_dtype(device, "f") if dtype is None else dtypes.canonical(dtype)
    cos, sin = _ROPE_TABLES.several(positions, dimensions=dimensions, theta=theta, dtype=wanted)
    return cos, sin
