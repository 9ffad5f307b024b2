"""Operands of binary operations: Python scalars, promotion and devices.

A Python scalar takes the dtype of the array operand if its kind is the same or lower
(bool < int < float < complex); a complex scalar and a real floating-point array give a complex
result of the same precision. NumPy scalars count as Python scalars.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from portarray.clarray.dtypes import RANK, kind_of, promote
from portarray.clarray.strided import Array

DType = np.dtype[Any]
Scalar: TypeAlias = bool | int | float | complex
Operand: TypeAlias = Array | Scalar

_COMPLEX64: DType = np.dtype(np.complex64)
_COMPLEX128: DType = np.dtype(np.complex128)


def python_scalar(value: object, name: str) -> Scalar:
    """Return a Python or NumPy scalar as a Python scalar."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, np.generic):
        if isinstance(value, ml_dtypes.bfloat16):
            return float(value)
        plain = value.item()
        if isinstance(plain, (bool, int, float, complex)):
            return plain
    raise TypeError(
        f"{name} takes clarray arrays and Python scalars, got {type(value).__name__}\n"
        f"Hint: convert it with clarray.asarray(x)"
    )


def scalar_operand(value: Scalar, dtype: DType, name: str) -> tuple[Scalar, DType]:
    """Return the scalar operand of an array of a dtype, converted, and the dtype to compute in."""
    kind = kind_of(dtype)
    if isinstance(value, bool):
        return value, dtype
    if isinstance(value, int):
        if kind in ("signed", "unsigned"):
            limits = np.iinfo(dtype)
            if not limits.min <= value <= limits.max:
                raise OverflowError(
                    f"{name}: Python integer {value} is out of bounds for {dtype}, which holds "
                    f"{limits.min} to {limits.max}\nHint: convert the array with astype first"
                )
            return value, dtype
        if kind != "bool":
            return (complex(value) if kind == "complex" else float(value)), dtype
    elif isinstance(value, float):
        if RANK[kind] >= 2:
            return (complex(value) if kind == "complex" else value), dtype
    elif kind == "complex":
        return value, dtype
    elif kind == "real":
        return value, _COMPLEX128 if dtype.itemsize == 8 else _COMPLEX64
    raise TypeError(
        f"{name}: a Python {type(value).__name__} does not combine with an array of dtype {dtype}\n"
        f"Hint: convert the array with astype first"
    )


def same_kind(first: DType, second: DType) -> bool:
    """Return whether two dtypes are of one kind, all integers being one."""
    return RANK[kind_of(first)] == RANK[kind_of(second)]


def one_device(name: str, first: Array, second: Array) -> None:
    """Raise ValueError unless two arrays are on one device."""
    if first.storage.device is not second.storage.device:
        raise ValueError(
            f"{name}: the arrays are on two devices, {first.device!r} and {second.device!r}\n"
            f"Hint: move one with x.to_device(device)"
        )


def pair(x1: object, x2: object, name: str) -> tuple[Operand, Operand, DType]:
    """Return two operands, at least one an array, and the dtype they are computed in."""
    if isinstance(x1, Array):
        if isinstance(x2, Array):
            one_device(name, x1, x2)
            return x1, x2, promote(x1.dtype, x2.dtype)
        second, dtype = scalar_operand(python_scalar(x2, name), x1.dtype, name)
        return x1, second, dtype
    first = python_scalar(x1, name)
    if not isinstance(x2, Array):
        python_scalar(x2, name)
        raise TypeError(
            f"{name} needs at least one array, got {x1!r} and {x2!r}\n"
            f"Hint: convert one with clarray.asarray(x)"
        )
    first, dtype = scalar_operand(first, x2.dtype, name)
    return first, x2, dtype
