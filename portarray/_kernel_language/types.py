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
Number: TypeAlias = Any
"""A Python number: bool, int, float or complex, which type checkers do not tell apart."""

BOOL = np.dtype(bool)
DOUBLES = (np.dtype(np.float64), np.dtype(np.complex128))
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
INDEX_BITS = 30
"""Bits of sizes and indices where 32-bit numbers hold them, with room for a sum of two."""
ALL_BITS = 63


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number: strong of a dtype, or weak.

    Weak integers know how many bits their absolute value takes at most: they are 32 or 64 bits
    wide by that. Weak floats and complex numbers are of the device's default dtype.
    """

    dtype: DType | None
    kind: str  # one of "biufc"
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
        return {"i": "a Python int", "f": "a Python float", "c": "a Python complex"}[self.kind]


def same_dtype(a: DType | None, b: DType | None) -> bool:
    """Return whether dtypes of numbers are equal; for NumPy, None is equal to float64."""
    return a == b and (a is None) == (b is None)


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
WEAK_COMPLEX = Scalar(None, "c")
TRUTH = Scalar(BOOL, "b")


def weak_int(bits: int) -> Scalar:
    """Return the type of Python integers of up to so many bits."""
    return Scalar(None, "i", min(bits, ALL_BITS))


def strong(dtype: DType) -> Scalar:
    """Return the type of numbers of a dtype."""
    return Scalar(dtype, promotion.kind_of(dtype))


def complex_dtype(dtype: DType) -> DType:
    """Return the complex dtype that holds numbers of a dtype."""
    return promotion.promote(dtype, np.dtype(np.complex64))


def complex_of(type_: Scalar) -> Scalar:
    """Return the type of complex numbers with parts of a real type."""
    return WEAK_COMPLEX if type_.dtype is None else strong(complex_dtype(type_.dtype))


def part_of(type_: Scalar) -> Scalar:
    """Return the type of the real part of complex numbers."""
    if type_.dtype is None:
        return WEAK_FLOAT
    return strong(np.dtype(f"float{4 * type_.dtype.itemsize}"))


def settled(type_: Scalar, default: DType) -> Scalar:
    """Return the strong type in which numbers are stored, weak floats in the default dtype."""
    if type_.dtype is not None:
        return type_
    if type_.kind in "fc":
        return strong(default if type_.kind == "f" else complex_dtype(default))
    return strong(INT32 if type_.bits <= 31 else INT64)


def of_python(value: Number) -> Scalar:
    """Return the type of a Python number."""
    if isinstance(value, bool):
        return TRUTH
    if isinstance(value, int):
        return weak_int(value.bit_length())
    return WEAK_COMPLEX if isinstance(value, complex) else WEAK_FLOAT


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
            if weak_type.dtype is not None or weak_type.kind in "fc"
            else weak_int(weak_type.bits)
        )
    if x.dtype is None and y.dtype is None:
        return _weak(x, y)
    strong_type, weak_type = (y, x) if x.dtype is None else (x, y)
    if weak_type.kind == "c" and strong_type.kind != "c":
        real = strong_type if strong_type.kind == "f" else strong(default)
        return complex_of(real)
    if weak_type.kind == "f" and strong_type.kind in "iu":
        return strong(default)
    return strong_type


def _weak(x: Scalar, y: Scalar) -> Scalar:
    """Return the type of Python numbers of two types."""
    for kind in (WEAK_COMPLEX, WEAK_FLOAT):
        if kind.kind in (x.kind, y.kind):
            return kind
    return weak_int(max(x.bits, y.bits))


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
        return _weak(x, y)
    strong_type, weak_type = (y, x) if x.dtype is None else (x, y)
    order = promotion.KIND_ORDER
    if strong_type.kind == "b" or order[weak_type.kind] > order[strong_type.kind]:
        initial = {"i": "an integer", "f": "0.0", "c": "0j"}[weak_type.kind]
        convert = f"convert with kl.{strong_type.dtype}(...)"
        if weak_type.kind == "c":
            convert = "take a part with pa.real(...)"
        raise Mismatch(
            f"it is {x} and becomes {y} here; {convert}, or initialize it with {initial}"
        )
    return strong_type
