"""Checks of arguments that many functions share: shapes, axes, dtypes of a device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import index
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from portarray._opencl.device import Device
from portarray.clarray.dtypes import dtype_of, kind_of
from portarray.clarray.engine.transfer import to_numpy
from portarray.clarray.errors import DTypeNotSupportedError
from portarray.clarray.strided import Array

DType = np.dtype[Any]
Axes = int | Sequence[int]
ShapeLike = int | Sequence[int]


def array_of(x: object, function: str, name: str = "x") -> Array:
    """Return an argument that must be an array."""
    if isinstance(x, Array):
        return x
    raise TypeError(
        f"{function} takes clarray arrays, but {name} is of type {type(x).__name__}\n"
        f"Hint: convert it with asarray first"
    )


def integer_of(value: Any, name: str) -> int:
    """Return an argument that must be an integer."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be an integer") from None


def same_device(arrays: Sequence[Array], function: str) -> Device:
    """Return the device of arrays that must be on one."""
    device = arrays[0].device
    for x in arrays:
        if x.device is not device:
            raise ValueError(
                f"{function} got arrays on {device} and on {x.device}\n"
                f"Hint: move one with x.to_device(device)"
            )
    return device


def scalar_of(value: object, name: str) -> complex:
    """Return a Python scalar, NumPy scalar or 0-d array as a Python scalar."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    held = to_numpy(value) if isinstance(value, Array) else value
    if isinstance(held, (np.generic, np.ndarray)) and held.ndim == 0:
        scalar: Any = held.item()
        if isinstance(scalar, (bool, int, float, complex)):
            return scalar
    raise TypeError(f"{name} is {value!r:.80}; it must be a number or a 0-d array of one")


def shape_of(value: ShapeLike, name: str = "shape") -> tuple[int, ...]:
    """Return a shape, given as a size or a sequence of sizes, as a tuple."""
    try:
        sizes = (
            tuple([index(size) for size in value])
            if isinstance(value, Sequence)
            else (index(value),)
        )
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be an integer or a tuple of them") from None
    for size in sizes:
        if size < 0:
            raise ValueError(f"{name} is {value!r}; sizes must not be negative")
    return sizes


def axis_of(axis: Any, ndim: int, name: str = "axis") -> int:
    """Return an axis counted from the first."""
    given_axis = integer_of(axis, name)
    if -ndim <= given_axis < ndim:
        return given_axis % ndim
    if ndim == 0:
        raise AxisError(f"{name} {given_axis} is out of range: a 0-d array has no axes")
    raise AxisError(
        f"{name} {given_axis} is out of range for {ndim} axes\n"
        f"Hint: use one from {-ndim} to {ndim - 1}"
    )


def axes_of(axis: Axes | None, ndim: int, name: str = "axis") -> tuple[int, ...]:
    """Return an axis, several, or all (None), counted from the first, in the order given."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, Sequence):
        return (axis_of(axis, ndim, name),)
    axes = tuple([axis_of(entry, ndim, name) for entry in axis])
    if len(set(axes)) < len(axes):
        raise ValueError(f"{name} {axis!r} names an axis twice; each may be named once")
    return axes


@cache
def default_dtype(device: Device, kind: str) -> DType:
    """Return a device's default dtype of a kind."""
    narrow, wide = {
        "bool": (np.bool_, np.bool_),
        "integral": (np.int32, np.int64),
        "real floating": (np.float32, np.float64),
        "complex floating": (np.complex64, np.complex128),
    }[kind]
    default: DType = np.dtype(wide)
    return default if default in device.dtypes else np.dtype(narrow)


def nearest_dtype(dtype: DType, device: Device) -> DType | None:
    """Return the device's dtype of the same kind that is closest to one it lacks."""
    kind = kind_of(dtype)
    same = sorted(
        (candidate for candidate in device.dtypes if kind_of(candidate) == kind),
        key=lambda candidate: candidate.itemsize,
    )
    below = [candidate for candidate in same if candidate.itemsize < dtype.itemsize]
    return below[-1] if below else same[0] if same else None


@cache
def dtype_on(dtype: Any, device: Device) -> DType:
    """Return a dtype that a device must have, given as a dtype, a NumPy scalar type or a name."""
    resolved = dtype_of(dtype)
    if resolved not in device.dtypes:
        near = nearest_dtype(resolved, device)
        raise DTypeNotSupportedError(
            f"{device} does not support {resolved}"
            + ("" if near is None else f"; the nearest it has is {near}")
        )
    return resolved


def dtype_or_default(dtype: Any, device: Device, kind: str) -> DType:
    """Return a dtype that a device must have, or its default dtype of a kind for None."""
    return default_dtype(device, kind) if dtype is None else dtype_on(dtype, device)
