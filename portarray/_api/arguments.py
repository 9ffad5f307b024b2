"""Argument checks that are the same on every device: axes, shapes, sizes and modes.

Libraries differ most in what they do with a *wrong* argument: some raise, others wrap around or
crash. These checks run before the library is called, so that the error is the same everywhere and
names the value, the rule and the fix. Everything else is left to the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from portarray._array import dtypes, operands
from portarray._array.array import Array
from portarray._dispatch import argument_rules
from portarray.errors import LinAlgError

_INTEGERS = frozenset({int})


def axis(value: int, x: Any, *, extra: int = 0) -> int:
    """Return an axis of an array after checking that the array, with ``extra`` axes more, has it.

    Other objects pass: the call raises a better error for them.
    """
    if type(value) is not int:
        try:
            value = index(value)
        except TypeError:
            raise TypeError(f"axis must be an integer, not {value!r}") from None
    if type(x) is not Array:
        return value
    count = x.ndim + extra
    if -count <= value < count:
        return value
    raise _out_of_bounds(value, count)


def _out_of_bounds(value: int, count: int) -> AxisError:
    if count == 0:
        return AxisError(f"axis {value} is out of bounds: a 0-d array has no axes")
    return AxisError(
        f"axis {value} is out of bounds for {count} axes\nHint: use an axis from {-count} to "
        f"{count - 1}"
    )


def axes(value: int | Sequence[int], x: Any, *, name: str = "axis") -> int | tuple[int, ...]:
    """Return one or several axes of an array after checking them; lists become tuples."""
    if type(value) is int or not isinstance(value, (list, tuple)):
        return axis(value, x)  # type: ignore[arg-type]
    if type(value) is tuple and _INTEGERS.issuperset(map(type, value)):
        normalized = value
    else:
        normalized = tuple([axis(item, x) for item in value])
    if type(x) is Array and not _are_distinct(normalized, x.ndim):
        raise ValueError(f"{name}={value!r} repeats an axis; each axis may occur once")
    return normalized


def axis_tuple(value: int | Sequence[int], x: Any, name: str) -> tuple[int, ...]:
    """Return one or several axes of an array as a tuple after checking them."""
    if type(value) is int:
        return (axis(value, x),)
    normalized = integers(value, name)
    if type(x) is Array and not _are_distinct(normalized, x.ndim):
        raise ValueError(f"{name}={normalized!r} repeats an axis; each axis may occur once")
    return normalized


@lru_cache(maxsize=512)
def _are_distinct(axes: tuple[int, ...], count: int) -> bool:
    """Return whether axes differ; raise AxisError if one is out of bounds."""
    for item in axes:
        if not -count <= item < count:
            raise _out_of_bounds(item, count)
    return len({item % count for item in axes}) == len(axes)


def is_array(x: object) -> bool:
    """Return whether an argument that should be an array is one, as its annotation says it is."""
    return type(x) is Array


def integers(value: int | Sequence[int], name: str) -> tuple[int, ...]:
    """Return one integer or a sequence of them as a tuple."""
    if type(value) is int:
        return (value,)
    if type(value) is tuple and _INTEGERS.issuperset(map(type, value)):
        return value
    try:
        if isinstance(value, (list, tuple)):
            return tuple([+index(item) for item in value])  # True is 1
        if hasattr(value, "__index__"):
            return (index(value),)
        return tuple([index(item) for item in value])
    except TypeError:
        raise TypeError(
            f"{name} must be an integer or a tuple of integers, not {value!r}"
        ) from None


def shape(value: int | Sequence[int]) -> tuple[int, ...]:
    """Return a shape as a tuple of non-negative integers."""
    if type(value) is int and value >= 0:
        return (value,)
    sizes = integers(value, "shape")
    if sizes and min(sizes) < 0:
        raise ValueError(f"shape must not have negative sizes, got {value!r}")
    return sizes


def size(value: int, name: str) -> int:
    """Return a count after checking that it is a non-negative integer."""
    try:
        value = +index(value)  # True is 1, for libraries that refuse it
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if value < 0:
        raise ValueError(f"{name} must not be negative, got {value}")
    return value


def flag(value: Any, name: str) -> bool:
    """Return a truth value; integers count as one, as everywhere in Python."""
    if value is True:
        return True
    try:
        return bool(index(value))
    except TypeError:
        raise TypeError(f"{name} must be True or False, not {value!r}") from None


def choice(value: object, name: str, allowed: tuple[object, ...]) -> None:
    """Raise for a mode that is not allowed."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")


def matrices(x: Any, function: str) -> None:
    """Raise for an array with fewer than two axes."""
    if type(x) is Array and x.ndim < 2:
        reason = f"expected matrices of shape (..., M, N), got shape {x.shape}"
        raise LinAlgError(function, reason, str(x.device))


def indices(x: Any, name: str) -> None:
    """Raise for an array whose dtype is not an integer; other objects pass."""
    if type(x) is Array and x.dtype.kind not in "iu":
        raise TypeError(f"{name} must have an integer dtype, not {x.dtype}")


def numeric(dtype: object, function: str, x: Any = None) -> None:
    """Raise for a dtype to sum or multiply in that is bool, or real for a complex array."""
    if dtype is None:
        return
    numpy_dtype = dtypes.canonical(dtype)
    if dtypes.kind_of(numpy_dtype) == "b":
        raise TypeError(
            f"{function}: unsupported dtype bool\nHint: use any or all for truth values"
        )
    if isinstance(getattr(x, "dtype", None), np.dtype):
        argument_rules.check_accumulated(function, x.dtype, numpy_dtype)


def number(value: Any, name: str) -> int | float | complex:
    """Return a Python, NumPy or 0-d array scalar as a Python scalar."""
    if type(value) in (int, float, complex, bool):
        return value  # type: ignore[no-any-return]
    result = operands.scalar(value.item() if getattr(value, "ndim", None) == 0 else value)
    if result is NotImplemented:
        raise TypeError(f"{name} must be a number, not {value!r}")
    return result  # type: ignore[no-any-return]


def real_number(value: Any, name: str) -> int | float:
    """Return a real number as a Python scalar; NumPy scalars and 0-d arrays are read."""
    if type(value) is float:
        return value
    scalar = number(value, name)
    if isinstance(scalar, complex):
        raise TypeError(f"{name} must be a real number, not {value!r}")
    return scalar


def fill_value(value: Any, dtype: object) -> bool | int | float | complex:
    """Return a fill value as the scalar of a dtype's kind, after checking that it fits."""
    scalar = number(value, "fill_value")
    if dtype is None:
        return scalar
    exact = dtypes.canonical(dtype)
    kind = dtypes.kind_of(exact)
    if kind == "b":
        return bool(scalar)
    if kind == "c":
        return complex(scalar)
    if isinstance(scalar, complex):
        raise TypeError(
            f"fill_value {scalar!r} is complex, and the dtype is {exact}\nHint: pass its real "
            f"part, or a complex dtype"
        )
    if kind == "f":
        return float(scalar)
    low, high = dtypes.limits(exact)
    if not low <= scalar <= high:
        raise OverflowError(
            f"fill_value {scalar!r} does not fit {exact} ({low} to {high})\nHint: use a wider dtype"
        )
    return int(scalar)
