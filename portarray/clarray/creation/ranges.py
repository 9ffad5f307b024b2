"""Evenly spaced numbers, and grids of coordinates."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from portarray.clarray.arguments import (
    array_of,
    default_dtype,
    dtype_or_default,
    integer_of,
    same_device,
    scalar_of,
)
from portarray.clarray.dtypes import real_dtype_of
from portarray.clarray.engine import ramp
from portarray.clarray.engine.copy import cast, copy
from portarray.clarray.selection import device_of
from portarray.clarray.strided import Array, empty, new_array


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: object = None,
) -> Array:
    """Return evenly spaced numbers of a half-open interval."""
    first, last, by = (0, start, step) if stop is None else (start, stop, step)
    first, last, by = _real(first, "start"), _real(last, "stop"), _real(step, "step")
    if by == 0:
        raise ValueError("arange got step 0; the step must not be zero")
    exact = all(isinstance(value, int) for value in (first, last, by))
    if not exact and not all(math.isfinite(value) for value in (first, last, by)):
        raise ValueError(f"arange got start, stop, step = {first, last, by}; all must be finite")
    where = device_of(device)
    target = dtype_or_default(dtype, where, "integral" if exact else "real floating")
    if target.kind == "b":
        raise TypeError("arange: bool is not a numeric dtype")
    size = -((first - last) // by) if exact else math.ceil((last - first) / by)
    size = max(0, int(size))
    if target.kind in "iu":
        if not exact:
            return _fractions(first, by, size, target, where)
        limits = np.iinfo(target)
        for value in (first, first + (size - 1) * by) if size else ():
            if not limits.min <= value <= limits.max:
                raise OverflowError(
                    f"arange: {value} does not fit {target} ({limits.min} to {limits.max})"
                )
    out = empty((size,), real_dtype_of(target), where)
    ramp.count(out, first, by)
    return out if out.dtype == target else cast(out, target)


def _fractions(start: float, step: float, size: int, dtype: np.dtype[Any], device: Any) -> Array:
    """Return evenly spaced real numbers, truncated to integers."""
    out = empty((size,), default_dtype(device, "real floating"), device)
    ramp.count(out, start, step)
    return cast(out, dtype)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: object = None,
    endpoint: bool = True,
) -> Array:
    """Return a given count of evenly spaced numbers.

    Both ends are exact, the numbers between within 2 ULP of the larger end (4 on devices without
    float64), rounded to the dtype.
    """
    count = integer_of(num, "num")
    if count < 0:
        raise ValueError(f"num is {count}; it must not be negative")
    first, last = scalar_of(start, "start"), scalar_of(stop, "stop")
    is_complex = not all(isinstance(end, (int, float)) for end in (first, last))
    where = device_of(device)
    kind = "complex floating" if is_complex else "real floating"
    target = dtype_or_default(dtype, where, kind)
    if is_complex and target.kind != "c":
        raise TypeError(
            f"linspace got complex ends and dtype {target}\nHint: pass real ends or a complex dtype"
        )
    gaps = max(1, count - 1 if endpoint else count)
    computed = target if target.kind in "fcV" else default_dtype(where, "real floating")
    out = empty((count,), computed, where)
    if computed.kind != "c":
        ramp.between(out, float(first.real), float(last.real), gaps)
        return out if computed == target else cast(out, target)
    part = real_dtype_of(computed)
    for position, ends in enumerate(((first.real, last.real), (first.imag, last.imag))):
        parts = new_array(out.storage, part, (count,), (2,), position, False)
        ramp.between(parts, float(ends[0]), float(ends[1]), gaps)
    return out


def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Return the coordinates of a grid's points, an array for each axis."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is {indexing!r}\nHint: use 'xy' or 'ij'")
    for position, array in enumerate(arrays):
        x = array_of(array, "meshgrid", f"argument {position}")
        if x.ndim > 1:
            raise ValueError(
                f"meshgrid takes 0-d and 1-d arrays, but argument {position} has shape {x.shape}"
            )
    if arrays:
        same_device(arrays, "meshgrid")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = [1, 0]
    shape = tuple(math.prod(arrays[axis].shape) for axis in order)
    results = []
    for axis, x in enumerate(arrays):
        strides = tuple(sum(x.strides) if dimension == axis else 0 for dimension in order)
        results.append(copy(x.view(shape, strides, x.offset)))
    return tuple(results)


def _real(value: object, name: str) -> float:
    scalar: object = scalar_of(value, name)
    if not isinstance(scalar, (int, float)):
        raise TypeError(f"{name} is {value!r:.80}; it must be a real number")
    return scalar
