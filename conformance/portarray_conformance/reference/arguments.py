"""Checks of arguments that are not arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from portarray_conformance.reference import kinds
from portarray_conformance.reference.array import Array


def axis(value: Any, ndim: int) -> int:
    """Return an axis counted from the front."""
    try:
        index = operator.index(value)
    except TypeError:
        raise TypeError(f"axis is {value!r}; an axis must be an integer") from None
    if not -ndim <= index < ndim:
        raise kinds.AxisError(f"axis {index} is out of range for {ndim} axes")
    return index % ndim


def axes(value: Any, ndim: int) -> tuple[int, ...]:
    """Return one or several axes, each named once; all for None."""
    if value is None:
        return tuple(range(ndim))
    indices = tuple(
        axis(entry, ndim) for entry in (value if isinstance(value, (list, tuple)) else [value])
    )
    if len(set(indices)) < len(indices):
        raise ValueError(f"axis={value!r} names an axis twice")
    return indices


def integers(value: Any, name: str) -> tuple[int, ...]:
    """Return one or several integers as a tuple."""
    try:
        if hasattr(value, "__index__") and not isinstance(value, (list, tuple)):
            return (operator.index(value),)
        return tuple(operator.index(entry) for entry in value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be an integer or a tuple of them") from None


def shape(value: Any) -> tuple[int, ...]:
    sizes = integers(value, "shape")
    if any(n < 0 for n in sizes):
        raise ValueError(f"shape is {value!r}; sizes must not be negative")
    return sizes


def require_memory(sizes: Iterable[int], dtype: kinds.DType) -> None:
    """Refuse arrays that are too large for any memory."""
    if math.prod(filter(None, sizes)) * dtype.itemsize > 2**40:
        raise MemoryError(f"{tuple(sizes)} of {dtype} are too many bytes")


def size(value: Any, name: str) -> int:
    """Return an integer that is not negative."""
    try:
        length = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be an integer") from None
    if length < 0:
        raise ValueError(f"{name} is {length}; it must not be negative")
    return length


def flag(value: Any, name: str) -> bool:
    """Return a truth value, for which integers count too."""
    try:
        return bool(operator.index(value))
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be True or False") from None


def copy(value: Any) -> None:
    if value is not None and not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"copy={value!r}: pass True, False or None")


def choice(value: Any, name: str, allowed: Iterable[Any]) -> None:
    if value not in tuple(allowed):
        raise ValueError(f"{name} is {value!r}; use one of {allowed}")


def python_number(value: Any, name: str) -> Any:
    if type(value) is Array or getattr(value, "ndim", None) == 0:
        if value.ndim:
            raise TypeError(f"{name} is {value!r}; it must be a number")
        value = value.item()
    scalar = kinds.scalar(value)
    if scalar is None:
        raise TypeError(f"{name} is {value!r}; it must be a number")
    return scalar


def real_number(value: Any, name: str) -> Any:
    """Return a Python number that is not complex."""
    scalar = python_number(value, name)
    if isinstance(scalar, complex):
        raise TypeError(f"{name} is {value!r}; it must be a real number")
    return scalar


def matrices(x: Any, name: str) -> None:
    """Check that an array has two axes or more."""
    if x.ndim < 2:
        raise kinds.LinAlgError(f"{name} got shape {x.shape}; it needs matrices")


def indices(x: Any, name: str) -> None:
    """Check that an array holds integers."""
    if type(x) is Array and kinds.letter(x.dtype) not in "iu":
        raise TypeError(f"{name} has dtype {x.dtype}; it must have an integer dtype")
