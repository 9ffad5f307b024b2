"""Softmax and its logarithm, along any axis."""

from __future__ import annotations

import math
from typing import Any

from portarray.clarray.arguments import axis_of
from portarray.clarray.engine.copy import contiguous, copy
from portarray.clarray.layout import strides_of
from portarray.clarray.neural import rows
from portarray.clarray.neural.checks import real
from portarray.clarray.neural.rows import LONG, ROW_VALUES, Call
from portarray.clarray.strided import Array, empty

_LANES = 16
_WORTH = 1 << 13


def softmax(x: Array, /, *, axis: int = -1) -> Array:
    """Return exponentials divided by their sum along an axis; NaN where that is undefined.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> cl.neural.softmax(cl.asarray([1000.0, 1000.0], dtype=cl.float32)).tolist()  # no overflow
    [0.5, 0.5]
    """
    return _along("softmax", x, axis)


def log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    """Return the logarithm of :func:`softmax`, without underflow.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> x = cl.asarray([0.0, -1000.0], dtype=cl.float32)
    >>> cl.neural.log_softmax(x).tolist()[1]
    -1000.0
    >>> cl.neural.softmax(x).tolist()[1]  # whose logarithm would be infinite
    0.0
    """
    return _along("log_softmax", x, axis)


def _along(name: str, x: Array, axis: int) -> Array:
    if isinstance(x, Array):
        call = rows.calls.get((name, x.storage.device, x.dtype, x.shape, x.strides, axis))
        if call is not None:
            return call(x)
    real(x, name)
    position = axis_of(axis, x.ndim)
    if 0 in x.shape:
        return empty(x.shape, x.dtype, x.device)
    inner = math.prod(x.shape[position + 1 :])
    if inner > 1:
        x = contiguous(x)
        call = _by_columns(name, x, position, inner)
    else:
        shape, strides = x.shape[: position + 1], x.strides[: position + 1]
        layout = rows.rows_of(shape, strides)
        if layout is None:
            return _along(name, copy(x), axis)
        kernel = rows.kernel(
            x.device, "neural_rows", name, x.dtype, 2, (LONG, *ROW_VALUES), layout.length
        )
        call = rows.call_of(kernel, layout, x)
    return rows.store((name, x.device, x.dtype, x.shape, x.strides, axis), call)(x)


def _by_columns(name: str, x: Array, axis: int, inner: int) -> Call:
    """Return the call along an axis of a contiguous array that is not the last one."""
    device, length = x.device, x.shape[axis]
    outer = math.prod(x.shape[:axis])
    kernel = rows.kernel(device, "neural_columns", name, x.dtype, 2, (LONG,) * 5, 1)
    values: tuple[Any, ...]
    if device.traits.local_memory:
        tasks, per_item, group = outer * inner, 1, device.traits.group
    else:
        tasks, group = outer * -(-inner // _LANES), 1
        most = min(32 * device.traits.units, tasks * length * _LANES // _WORTH)
        per_item = -(-tasks // max(most, 1))
    size = -(-tasks // (per_item * group)) * group
    values = tasks, per_item, length, inner
    nbytes = x.size * x.dtype.itemsize
    return Call(kernel, (size,), (group,), nbytes, x.shape, strides_of(x.shape), values)
