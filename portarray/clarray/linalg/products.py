"""Products and diagonals that only linear algebra has, computed on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray import statistical
from portarray.clarray.arguments import array_of, axis_of, integer_of
from portarray.clarray.arithmetic import multiply, subtract
from portarray.clarray.creation import eye
from portarray.clarray.dtypes import promote
from portarray.clarray.engine.copy import assign, copy
from portarray.clarray.engine.operands import one_device
from portarray.clarray.layout import broadcast_shapes
from portarray.clarray.linalg.lapack import square
from portarray.clarray.linalg.solving import inv
from portarray.clarray.linear_algebra import matmul
from portarray.clarray.strided import Array, empty

_BOOL = np.dtype(np.bool_)


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return cross products of vectors of three elements."""
    a, b = array_of(x1, "cross", "x1"), array_of(x2, "cross", "x2")
    one_device("cross", a, b)
    least = min(a.ndim, b.ndim)
    position = axis_of(axis, least) - least if axis < 0 else axis_of(axis, a.ndim) - a.ndim
    if position < -least or a.shape[position] != 3 or b.shape[position] != 3:
        raise ValueError(
            f"cross takes vectors of size 3 along axis {axis}, got shapes {a.shape} and {b.shape}"
        )
    dtype = promote(a.dtype, b.dtype)
    if dtype == _BOOL:
        raise TypeError("cross takes numeric arrays, got bool\nHint: convert with astype first")
    shape = broadcast_shapes(a.shape, b.shape)
    out = empty(shape, dtype, a.device)
    for part in range(3):
        first, second = (part + 1) % 3, (part + 2) % 3
        assign(
            _part(out, position, part),
            subtract(
                multiply(_part(a, position, first), _part(b, position, second)),
                multiply(_part(a, position, second), _part(b, position, first)),
            ),
        )
    return out


def _part(x: Array, axis: int, index: int) -> Array:
    """Return a view of one entry along an axis, which is counted from the end."""
    at = x.ndim + axis
    return x.view(
        (*x.shape[:at], 1, *x.shape[at + 1 :]), x.strides, x.offset + index * x.strides[at]
    )


def outer(x1: Array, x2: Array, /) -> Array:
    """Return all products of an element of one vector and an element of another."""
    a, b = array_of(x1, "outer", "x1"), array_of(x2, "outer", "x2")
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer takes arrays of one axis, got shapes {a.shape} and {b.shape}")
    return multiply(a.view((*a.shape, 1), (*a.strides, 0), a.offset), b)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return diagonals of matrices: a view."""
    x, offset = array_of(x, "diagonal"), integer_of(offset, "offset")
    if x.ndim < 2:
        raise ValueError(f"diagonal takes arrays of two or more axes, got shape {x.shape}")
    rows, columns = x.shape[-2:]
    down, right = max(-offset, 0), max(offset, 0)
    length = max(min(rows - down, columns - right), 0)
    start = down * x.strides[-2] + right * x.strides[-1] if length else 0
    return x.view(
        (*x.shape[:-2], length), (*x.strides[:-2], x.strides[-2] + x.strides[-1]), x.offset + start
    )


def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Return sums of diagonals of matrices."""
    entries = diagonal(x, offset=offset)
    if entries.dtype == _BOOL:
        raise TypeError("trace takes numeric arrays, got bool\nHint: convert with astype first")
    return statistical.sum(entries, axis=-1, dtype=dtype)


def matrix_power(x: Array, n: int, /) -> Array:
    """Return whole powers of square matrices, by repeated squaring."""
    n = integer_of(n, "n")
    x = square(x, "matrix_power", integers=n >= 0)
    if n == 0:
        result = empty(x.shape, x.dtype, x.device)
        assign(result, eye(x.shape[-1], dtype=x.dtype, device=x.device))
        return result
    base = inv(x) if n < 0 else x
    power: Array | None = None
    exponent = abs(n)
    while True:
        if exponent & 1:
            power = base if power is None else matmul(power, base)
        exponent >>= 1
        if not exponent:
            return copy(x) if power is None or power is x else power
        base = matmul(base, base)
