"""Rules on the values of arguments that hold for every library, with the error for each.

On NumPy's dtypes and Python's numbers: portarray's functions ask before a library is called, and
:mod:`portarray.backends.assembly` for its native namespaces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portarray.backends.promotion import KIND_ORDER, Kind, kind_of, limits

__all__ = [
    "bound",
    "bound_array",
    "check_accumulated",
    "check_all_transformed",
    "check_transformed",
    "whole_spaced",
    "whole_steps",
]

DType = np.dtype[Any]


def whole_steps(start: float, stop: float, step: float, dtype: DType) -> tuple[int, int, int]:
    """Return the arguments of an ``arange`` of an integer dtype as integers.

    Raises
    ------
    ValueError
        If the first number or the step has a fraction.
    OverflowError
        If a number is out of the range of the dtype.
    """
    for name, value in (("start", start), ("step", step)):
        if value != math.floor(value):
            raise ValueError(
                f"arange got {name} {value!r} and dtype {dtype}, in which every number would be "
                f"rounded; leave out dtype and convert the result with pa.astype, "
                f"or pass a whole {name}"
            )
    first, by = int(start), int(step)
    end = math.ceil(stop) if by > 0 else math.floor(stop)
    numbers = range(first, end, by)
    if numbers:
        _check_held("arange", (numbers[0], numbers[-1]), dtype)
    return first, end, by


def whole_spaced(
    start: float, stop: float, num: int, dtype: DType, *, endpoint: bool
) -> np.ndarray[Any, Any]:
    """Return the numbers of a ``linspace`` of an integer dtype, rounded down.

    Raises
    ------
    ValueError
        If an end is not finite.
    OverflowError
        If a number is out of the range of the dtype.
    """
    if not (math.isfinite(start) and math.isfinite(stop)):
        raise ValueError(
            f"linspace got {start!r} to {stop!r} and dtype {dtype}, which holds no such numbers; "
            f"use a floating-point dtype"
        )
    values = np.floor(np.linspace(start, stop, num, endpoint=endpoint))
    if not num:
        return values.astype(dtype)
    ends = [math.floor(start), math.floor(values[-1])]
    if endpoint and num > 1:
        ends[1] = math.floor(stop)
    _check_held("linspace", (ends[0], ends[1]), dtype)
    with np.errstate(invalid="ignore"):
        found = values.astype(dtype)
    found[0], found[-1] = ends  # floats do not hold all of them
    return found


def _check_held(name: str, numbers: tuple[int, ...], dtype: DType) -> None:
    low, high = limits(dtype)
    for number in numbers:
        if not low <= number <= high:
            raise OverflowError(
                f"{name} got {number}, which {dtype} does not hold ({low} to {high}); "
                f"use a wider dtype"
            )


def check_accumulated(name: str, dtype: DType, wanted: DType) -> None:
    """Check the dtype that a sum or product is computed in.

    Raises
    ------
    TypeError
        If it is real and the elements are complex.
    """
    if kind_of(dtype) == "c" and kind_of(wanted) != "c":
        raise TypeError(
            f"{name} of {dtype} elements in {wanted} loses the imaginary part; "
            f"take pa.real(x) first"
        )


def check_transformed(name: str, shape: Sequence[int], n: int | None, axis: int) -> None:
    """Check the number of elements of a Fourier transform along an axis.

    Raises
    ------
    ValueError
        If there are none, or the transform has none.
    """
    if not -len(shape) <= axis < len(shape):
        return  # for the library to refuse
    size = shape[axis]
    if n is None:
        n = 2 * (size - 1) if name in _FROM_HALVES else size
    if size < 1 or n < 1:
        raise ValueError(
            f"{name} got shape {tuple(shape)} and n={n} along axis {axis}; "
            f"a transform needs at least one element"
        )


_FROM_HALVES = frozenset(("fft.irfft", "fft.hfft"))


def check_all_transformed(
    name: str, shape: Sequence[int], s: Sequence[int] | None, axes: Sequence[int] | None
) -> None:
    """Do the same for a transform along several axes."""
    if axes is None:
        axes = range(-(len(shape) if s is None else len(s)), 0)
    if s is not None and len(s) != len(axes):
        raise ValueError(
            f"{name} got s={tuple(s)} and axes={tuple(axes)}; one size is due for each"
        )
    if len({axis % max(len(shape), 1) for axis in axes}) < len(axes):
        raise ValueError(f"{name} got axes={tuple(axes)}; each axis may be named once")
    if not axes and "r" in name:
        raise ValueError(f"{name} got no axes; it needs one that real numbers are along")
    for place, axis in enumerate(axes):
        if not -len(shape) <= axis < len(shape):
            return
        size = shape[axis]
        n = size if s is None else s[place]
        if s is None and name == "fft.irfftn" and place == len(axes) - 1:
            n = 2 * (size - 1)
        if size < 1 or n < 1:
            raise ValueError(
                f"{name} got shape {tuple(shape)} and n={n} along axis {axis}; "
                f"a transform needs at least one element along each axis"
            )


def bound(value: Any, dtype: DType, *, lower: bool) -> Any:
    """Return a scalar bound of ``clip`` as a Python number that a dtype holds; None for no limit.

    Raises
    ------
    TypeError
        If its kind is above the dtype's.
    OverflowError
        If it leaves no value of the dtype.
    """
    kinds: dict[type, Kind] = {bool: "b", int: "i", float: "f", complex: "c"}
    kind = next(kinds[one] for one in kinds if isinstance(value, one))
    _check_kind(kind, repr(value), dtype)
    if kind_of(dtype) not in "iu":
        return float(value) if kind_of(dtype) == "f" else value
    low, high = limits(dtype)
    if (value <= low) if lower else (value >= high):
        return None
    if not low <= value <= high:
        raise OverflowError(
            f"clip's bound {value} leaves no value of {dtype}, whose range is {low} to {high}"
        )
    return int(value)


def bound_array(given: DType, dtype: DType) -> tuple[int, int] | None:
    """Return the range to which an array of bounds is limited before it is cast; None for none.

    Raises
    ------
    TypeError
        If its kind is above that of the clipped array.
    """
    _check_kind(kind_of(given), f"of dtype {given}", dtype)
    if kind_of(given) not in "iu" or kind_of(dtype) not in "iu":
        return None
    (low, high), (lowest, highest) = limits(given), limits(dtype)
    return (max(low, lowest), min(high, highest)) if low < lowest or high > highest else None


def _check_kind(kind: Kind, what: str, dtype: DType) -> None:
    if KIND_ORDER[kind] > KIND_ORDER[kind_of(dtype)]:
        raise TypeError(
            f"clip keeps the dtype {dtype} of x, and the bound {what} is of a higher kind; convert "
            f"one: pa.astype(x, ...) or a bound of x's kind"
        )
