"""Arrays of one value, or uninitialized."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray.clarray import strided
from portarray.clarray.arguments import (
    ShapeLike,
    array_of,
    dtype_on,
    dtype_or_default,
    scalar_of,
    shape_of,
)
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.copy import fill
from portarray.clarray.selection import device_of
from portarray.clarray.strided import Array

DType = np.dtype[Any]


def empty(shape: ShapeLike, *, dtype: Any = None, device: object = None) -> Array:
    """Return an uninitialized array."""
    where = device_of(device)
    return strided.empty(shape_of(shape), dtype_or_default(dtype, where, "real floating"), where)


def empty_like(x: Array, /, *, dtype: Any = None, device: object = None) -> Array:
    """Return an uninitialized array of another's shape."""
    shape, target, where = _like(x, dtype, device, "empty_like")
    return strided.empty(shape, target, where)


def full(
    shape: ShapeLike, fill_value: complex | Array, *, dtype: Any = None, device: object = None
) -> Array:
    """Return an array of one value."""
    if isinstance(fill_value, Array):
        device = fill_value.device if device is None else device
        dtype = fill_value.dtype if dtype is None else dtype
    where = device_of(device)
    value = scalar_of(fill_value, "fill_value")
    return _filled(shape_of(shape), value, dtype_or_default(dtype, where, _kind(value)), where)


def full_like(
    x: Array, /, fill_value: complex | Array, *, dtype: Any = None, device: object = None
) -> Array:
    """Return an array of one value and of another array's shape."""
    shape, target, where = _like(x, dtype, device, "full_like")
    return _filled(shape, scalar_of(fill_value, "fill_value"), target, where)


def ones(shape: ShapeLike, *, dtype: Any = None, device: object = None) -> Array:
    """Return an array of ones."""
    where = device_of(device)
    return _filled(shape_of(shape), 1, dtype_or_default(dtype, where, "real floating"), where)


def ones_like(x: Array, /, *, dtype: Any = None, device: object = None) -> Array:
    """Return an array of ones of another array's shape."""
    shape, target, where = _like(x, dtype, device, "ones_like")
    return _filled(shape, 1, target, where)


def zeros(shape: ShapeLike, *, dtype: Any = None, device: object = None) -> Array:
    """Return an array of zeros."""
    where = device_of(device)
    return _filled(shape_of(shape), 0, dtype_or_default(dtype, where, "real floating"), where)


def zeros_like(x: Array, /, *, dtype: Any = None, device: object = None) -> Array:
    """Return an array of zeros of another array's shape."""
    shape, target, where = _like(x, dtype, device, "zeros_like")
    return _filled(shape, 0, target, where)


def _like(
    x: object, dtype: Any, device: object, function: str
) -> tuple[tuple[int, ...], DType, Device]:
    pattern = array_of(x, function)
    where = pattern.device if device is None else device_of(device)
    return pattern.shape, dtype_on(pattern.dtype if dtype is None else dtype, where), where


def _kind(value: complex) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "integral"
    return "real floating" if isinstance(value, float) else "complex floating"


def _filled(shape: tuple[int, ...], value: complex, dtype: DType, device: Device) -> Array:
    out = strided.empty(shape, dtype, device)
    fill(out, _fitting(value, dtype))
    return out


def _fitting(value: complex, dtype: DType) -> complex:
    """Return a value as a Python scalar of a dtype's kind, or raise."""
    kind = kind_of(dtype)
    if kind == "complex":
        return complex(value)
    if kind == "bool":
        return bool(value)
    if not isinstance(value, (int, float)):
        raise TypeError(
            f"{value!r} is complex and {dtype} is not\nHint: pass its real part, or a complex dtype"
        )
    if kind == "real":
        return float(value)
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:  # false for NaN, too
        raise OverflowError(f"{value!r} does not fit {dtype} ({limits.min} to {limits.max})")
    return int(value)
