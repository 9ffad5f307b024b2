"""Type promotion on NumPy's dtypes, the same for portarray and every backend.

The standard's promotions; where it leaves one undefined, the higher kind wins (bool < int < float <
complex), and of that kind the widest dtype. uint64 and a signed integer do not promote.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from typing import Any, Literal, NamedTuple

import numpy as np

__all__ = [
    "COMPARISONS",
    "FInfo",
    "KINDS",
    "KIND_ORDER",
    "Kind",
    "Scalar",
    "checked",
    "float_limits",
    "kind_of",
    "limits",
    "promote",
    "scalar_dtype",
]

DType = np.dtype[Any]
Scalar = bool | int | float | complex
Kind = Literal["b", "i", "u", "f", "c"]
"""One letter for a kind: bool, signed and unsigned integer, real and complex floating-point."""

KIND_ORDER = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
"""Kinds in the order of promotion: the higher one wins."""

KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
"""The standard's names of kinds, as in ``isdtype``, to letters."""


@cache
def kind_of(dtype: DType) -> Kind:
    """Return the kind of a dtype.

    Raises
    ------
    TypeError
        If it is none of portarray's dtypes.
    """
    # NumPy reports ml_dtypes' types as kind 'V'.
    kind = "f" if dtype.name == "bfloat16" else dtype.kind
    if kind not in KIND_ORDER:
        raise TypeError(
            f"unsupported dtype {dtype}\nHint: use bool, an integer, a real or complex "
            f"floating-point "
            f"dtype, for example float32"
        )
    return kind  # type: ignore[return-value]


def promote(*dtypes: DType) -> DType:
    """Return the dtype that one or more dtypes promote to.

    Raises
    ------
    TypeError
        For uint64 with a signed integer.
    """
    return reduce(_promote_two, dtypes)


@cache
def _promote_two(first: DType, second: DType) -> DType:
    if first == second:
        return first
    kinds = kind_of(first), kind_of(second)
    if KIND_ORDER[kinds[0]] > KIND_ORDER[kinds[1]]:
        first, second, kinds = second, first, (kinds[1], kinds[0])
    if kinds == ("f", "c"):
        # float64 with complex64: the standard keeps the precision of both.
        return np.dtype(np.complex128) if first.itemsize > 4 else second
    if KIND_ORDER[kinds[0]] < KIND_ORDER[kinds[1]]:
        return second
    if kinds[0] == kinds[1]:
        if first.itemsize == second.itemsize:  # float16 with bfloat16
            return np.dtype(np.float32)
        return max(first, second, key=lambda dtype: dtype.itemsize)
    unsigned, signed = (first, second) if kinds[0] == "u" else (second, first)
    if unsigned.itemsize == 8:
        raise TypeError(
            f"uint64 and {signed} do not promote: no integer dtype holds both\n"
            f"Hint: convert one with pa.astype first"
        )
    return np.dtype(f"int{8 * max(signed.itemsize, 2 * unsigned.itemsize)}")


COMPARISONS = frozenset({"equal", "greater", "greater_equal", "less", "less_equal", "not_equal"})
"""Functions that accept Python integers outside the range of the array's dtype."""


@cache
def limits(dtype: DType) -> tuple[int, int]:
    """Return the range of an integer dtype; an empty range for all others."""
    kind, bits = kind_of(dtype), 8 * dtype.itemsize  # np.iinfo takes ten times as long
    if kind == "i":
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return (0, 2**bits - 1) if kind == "u" else (1, 0)


class FInfo(NamedTuple):
    """Limits of a floating-point dtype; of its parts for a complex one."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


def float_limits(dtype: np.dtype[Any]) -> FInfo:
    """Return the limits of a floating-point dtype of NumPy or ml_dtypes."""
    limits: Any
    if dtype.kind == "V":  # of ml_dtypes: NumPy does not know its limits
        import ml_dtypes  # only for those who use such a dtype

        limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    else:
        limits = np.finfo(dtype)
    return FInfo(
        bits=int(limits.bits),
        eps=float(limits.eps),
        max=float(limits.max),
        min=float(limits.min),
        smallest_normal=float(limits.smallest_normal),
        dtype=np.dtype(limits.dtype),
    )


def checked(value: Any, dtype: DType) -> Any:
    """Return a scalar as the Python type that fits a dtype's kind.

    Raises
    ------
    OverflowError
        If it is out of range of an integer dtype.
    """
    kind = kind_of(dtype)
    if kind in "iu":
        value = int(value)
        low, high = limits(dtype)
        if not low <= value <= high:
            raise OverflowError(
                f"Python integer {value} is out of bounds for {dtype} "
                f"({low} to {high})\nHint: convert the array to a wider dtype first"
            )
        return value
    if kind == "f":
        return float(value)
    return complex(value) if kind == "c" else value


def scalar_dtype(scalar: Scalar, dtype: DType, default: Callable[[str], DType]) -> DType:
    """Return the dtype that a Python scalar and an array of a dtype promote to.

    Parameters
    ----------
    scalar : bool, int, float or complex
        The scalar; it only raises the kind.
    dtype : numpy.dtype
        The array's.
    default : callable
        Returns the device's default dtype of a kind, ``"i"``, ``"f"`` or ``"c"``.

    Raises
    ------
    TypeError
        If it is not a scalar.
    """
    order = KIND_ORDER[kind_of(dtype)]
    if isinstance(scalar, bool):
        return dtype
    if isinstance(scalar, int):
        return dtype if order >= 1 else default("i")
    if isinstance(scalar, float):
        return dtype if order >= 2 else default("f")
    if isinstance(scalar, complex):
        if order == 3:
            return dtype
        if order < 2:
            return default("c")
        return np.dtype(np.complex64) if dtype.itemsize < 8 else np.dtype(np.complex128)
    raise TypeError(f"expected an array or a Python scalar, got {type(scalar).__name__}")
