"""Checks of arguments that are no arrays."""

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
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"axis is {value!r}; an axis must be an integer") from None
    if not -ndim <= found < ndim:
        raise kinds.AxisError(f"axis {found} is out of range for {ndim} axes")
    return found % ndim


def axes(value: Any, ndim: int) -> tuple[int, ...]:
    """Return one or several axes, each named once; all for None."""
    if value is None:
        return tuple(range(ndim))
    found = tuple(
        axis(one, ndim) for one in (value if isinstance(value, (list, tuple)) else [value])
    )
    if len(set(found)) < len(found):
        raise ValueError(f"axis={value!r} names an axis twice")
    return found


def integers(value: Any, name: str) -> tuple[int, ...]:
    """Return one or several integers as a tuple."""
    try:
        if hasattr(value, "__index__") and not isinstance(value, (list, tuple)):
            return (operator.index(value),)
        return tuple(operator.index(one) for one in value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be an integer or a tuple of them") from None


def shape(value: Any) -> tuple[int, ...]:
    """Return a shape."""
    found = integers(value, "shape")
    if any(n < 0 for n in found):
        raise ValueError(f"shape is {value!r}; sizes must not be negative")
    return found


def counted(sizes: Iterable[int], dtype: kinds.DType) -> None:
    """Refuse what no memory holds."""
    if math.prod(filter(None, sizes)) * dtype.itemsize > 2**40:
        raise MemoryError(f"{tuple(sizes)} of {dtype} are too many bytes")


def size(value: Any, name: str) -> int:
    """Return an integer that is not negative."""
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be an integer") from None
    if found < 0:
        raise ValueError(f"{name} is {found}; it must not be negative")
    return found


def flag(value: Any, name: str) -> bool:
    """Return a truth value, for which integers count too."""
    try:
        return bool(operator.index(value))
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be True or False") from None


def copy(value: Any) -> None:
    """Check a ``copy=``."""
    if value is not None and not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"copy={value!r}: pass True, False or None")


def choice(value: Any, name: str, allowed: Iterable[Any]) -> None:
    """Check that a value is one of those allowed."""
    if value not in tuple(allowed):
        raise ValueError(f"{name} is {value!r}; use one of {allowed}")


def number(value: Any, name: str) -> Any:
    """Return a Python number."""
    if type(value) is Array or getattr(value, "ndim", None) == 0:
        if value.ndim:
            raise TypeError(f"{name} is {value!r}; it must be a number")
        value = value.item()
    found = kinds.scalar(value)
    if found is None:
        raise TypeError(f"{name} is {value!r}; it must be a number")
    return found


def real_number(value: Any, name: str) -> Any:
    """Return a Python number that is not complex."""
    found = number(value, name)
    if isinstance(found, complex):
        raise TypeError(f"{name} is {value!r}; it must be a real number")
    return found


def matrices(x: Any, name: str) -> None:
    """Check that an array has two axes or more."""
    if x.ndim < 2:
        raise kinds.LinAlgError(f"{name} got shape {x.shape}; it needs matrices")


def indices(x: Any, name: str) -> None:
    """Check that an array holds integers."""
    if type(x) is Array and kinds.letter(x.dtype) not in "iu":
        raise TypeError(f"{name} has dtype {x.dtype}; it must have an integer dtype")
