"""The types of values in kernels.

Values of arrays and casts have a dtype: they are *strong*. Python's numbers, sizes, indices and
counters are *weak*: combined with a strong value they take its dtype.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from portarray._dtypes import promotion

DType: TypeAlias = np.dtype[Any]

BOOL = np.dtype(bool)
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
INDEX_BITS = 30
"""Bits of sizes and indices where 32-bit numbers hold them, with room for a sum of two."""
ALL_BITS = 63


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number: strong of a dtype, or weak.

    Weak integers know how many bits their absolute value takes at most: they are 32 or 64 bits
    wide by that. Weak floats are of the device's default dtype.
    """

    dtype: DType | None
    kind: str  # one of "biuf"
    bits: int = 0

    @property
    def strong_dtype(self) -> DType:
        assert self.dtype is not None
        return self.dtype

    @property
    def weak(self) -> bool:
        """Whether it takes the dtype of its other operand."""
        return self.dtype is None

    def __str__(self) -> str:
        if self.dtype is not None:
            return str(self.dtype)
        return "a Python int" if self.kind == "i" else "a Python float"


@dataclass(frozen=True, slots=True)
class Tuple:
    items: tuple[Scalar, ...]

    def __str__(self) -> str:
        return f"a tuple of {len(self.items)}"


@dataclass(frozen=True, slots=True)
class Array:
    """An array: a parameter, or memory of a group or a work-item with a constant shape."""

    name: str
    dtype: DType
    ndim: int
    space: str = "global"  # or "local", "private"
    shape: tuple[int, ...] | None = None
    strided: bool = False

    def __str__(self) -> str:
        return f"an array of {self.ndim} axes"


@dataclass(frozen=True, slots=True)
class Constant:
    """A compile-time constant that is not a number: a dtype, a module, a function."""

    value: Any

    def __str__(self) -> str:
        return f"{type(self.value).__name__} {getattr(self.value, '__name__', self.value)!r}"


Type: TypeAlias = Scalar | Tuple | Array | Constant

WEAK_FLOAT = Scalar(None, "f")
TRUTH = Scalar(BOOL, "b")


def weak_int(bits: int) -> Scalar:
    """Return the type of Python integers of up to so many bits."""
    return Scalar(None, "i", min(bits, ALL_BITS))


def strong(dtype: DType) -> Scalar:
    """Return the type of numbers of a dtype."""
    return Scalar(dtype, promotion.kind_of(dtype))


def of_python(value: bool | int | float) -> Scalar:
    """Return the type of a Python number."""
    if isinstance(value, bool):
        return TRUTH
    if isinstance(value, int):
        return weak_int(value.bit_length())
    return WEAK_FLOAT


class Mismatch(Exception):  # noqa: N818  (it becomes a Problem)
    """Two types without a common one."""


def promoted(x: Scalar, y: Scalar, default: DType) -> Scalar:
    """Return the type in which two numbers are computed; `default` is the default float."""
    if x.dtype is not None and y.dtype is not None and x.kind != "b" and y.kind != "b":
        try:
            return strong(promotion.promote(x.dtype, y.dtype))
        except TypeError as error:
            raise Mismatch(str(error)) from None
    if x.kind == "b" and y.kind == "b":
        return TRUTH
    if x.kind == "b" or y.kind == "b":
        weak_type = y if x.kind == "b" else x
        return (
            weak_type
            if weak_type.dtype is not None or weak_type.kind == "f"
            else weak_int(weak_type.bits)
        )
    if x.dtype is None and y.dtype is None:
        if "f" in (x.kind, y.kind):
            return WEAK_FLOAT
        return weak_int(max(x.bits, y.bits))
    strong_type, weak_type = (y, x) if x.dtype is None else (x, y)
    if weak_type.kind == "f" and strong_type.kind in "iu":
        return strong(default)
    return strong_type


def joined(x: Type, y: Type) -> Type:
    """Return the common type of a variable's values."""
    if x == y:
        return x
    if isinstance(x, Tuple) and isinstance(y, Tuple) and len(x.items) == len(y.items):
        items = [joined(a, b) for a, b in zip(x.items, y.items, strict=True)]
        return Tuple(tuple(items))  # type: ignore[arg-type]
    if not (isinstance(x, Scalar) and isinstance(y, Scalar)):
        raise Mismatch(f"it is {x} and becomes {y} here")
    if x.dtype is not None and y.dtype is not None:
        raise Mismatch(
            f"it is {x} and becomes {y} here; initialize it with kl.{y.dtype}(...), or convert "
            f"here with kl.{x.dtype}(...)"
        )
    if x.dtype is None and y.dtype is None:
        return WEAK_FLOAT if "f" in (x.kind, y.kind) else weak_int(max(x.bits, y.bits))
    strong_type, weak_type = (y, x) if x.dtype is None else (x, y)
    if strong_type.kind == "b" or (strong_type.kind in "iu" and weak_type.kind == "f"):
        raise Mismatch(
            f"it is {x} and becomes {y} here; convert with kl.{strong_type.dtype}(...), or "
            f"initialize it with {'0.0' if weak_type.kind == 'f' else 'an integer'}"
        )
    return strong_type
