"""Normalization along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray.clarray.dtypes import computed_dtype
from portarray.clarray.engine.copy import contiguous, copy
from portarray.clarray.neural import rows
from portarray.clarray.neural.checks import real, vector
from portarray.clarray.neural.rows import LONG, ROW_VALUES
from portarray.clarray.strided import Array, empty

_UNFIT = "unfit"
"""The key of vectors that every call must check or copy."""


def rms_norm(x: Array, weight: Array | None = None, /, *, eps: float = 1e-6) -> Array:
    """Return ``x / sqrt(mean(x * x) + eps) * weight`` along the last axis.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> x = cl.asarray([3.0, 4.0], dtype=cl.float32)  # the root of the mean square is 3.5355
    >>> [round(value, 4) for value in cl.neural.rms_norm(x).tolist()]
    [0.8485, 1.1314]
    """
    return _normalized("rms_norm", x, (weight,), eps)


def layer_norm(
    x: Array, weight: Array | None = None, bias: Array | None = None, /, *, eps: float = 1e-5
) -> Array:
    """Return ``(x - mean) / sqrt(variance + eps) * weight + bias`` along the last axis.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> x = cl.asarray([[1.0, 3.0], [10.0, 30.0]], dtype=cl.float32)
    >>> y = cl.neural.layer_norm(x)  # each row has mean 0 and variance 1
    >>> [[round(value, 4) for value in row] for row in y.tolist()]
    [[-1.0, 1.0], [-1.0, 1.0]]
    """
    return _normalized("layer_norm", x, (weight, bias), eps)


def _normalized(name: str, x: Array, vectors: tuple[Array | None, ...], eps: float) -> Array:
    key: tuple[Any, ...] = ()
    if isinstance(x, Array):
        device = x.storage.device
        key = (
            name,
            device,
            x.dtype,
            x.shape,
            x.strides,
            eps,
            *[_form(weight, device) for weight in vectors],
        )
        call = rows.calls.get(key)
        if call is not None:
            return call(x, *[x if weight is None else weight for weight in vectors])
    real(x, name)
    if not x.shape:
        raise ValueError(f"{name}: a 0-d array has no last axis")
    vectors = tuple(
        [
            None if weight is None else contiguous(vector(weight, x, name, called))
            for weight, called in zip(vectors, ("weight", "bias"), strict=False)
        ]
    )
    if 0 in x.shape:
        return empty(x.shape, x.dtype, x.device)
    layout = rows.rows_of(x.shape, x.strides)
    if layout is None:
        return _normalized(name, copy(x), vectors, eps)
    many = len(vectors)
    values = (LONG,) * (1 + many), ROW_VALUES, (np.int32,) * many, (computed_dtype(x.dtype),)
    kernel = rows.kernel(
        x.device, "neural_rows", name, x.dtype, 2 + many, sum(values, ()), layout.length
    )
    call = rows.call_of(kernel, layout, x, *[int(weight is not None) for weight in vectors], eps)
    others = [x if weight is None else weight for weight in vectors]
    if _UNFIT not in key:
        rows.store(key, call)
    return call(x, *others)


def _form(value: object, device: Device) -> object:
    """Return a vector's part of the cache key."""
    if value is None:
        return None
    if isinstance(value, Array) and value.contiguous and value.storage.device is device:
        return value.dtype, value.shape
    return _UNFIT
