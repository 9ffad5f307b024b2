"""Functions of dtypes."""

from __future__ import annotations

import builtins
import math
from typing import Any, NamedTuple

import numpy as np

from portarray_conformance.reference import kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.context import Context
from portarray_conformance.reference.kinds import BOOL, DType
from portarray_conformance.reference.registry import function


class FloatInfo(NamedTuple):
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerInfo(NamedTuple):
    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_of(x: Any) -> DType:
    return x.dtype if type(x) is Array else kinds.canonical(x)


@function("custom")
def can_cast(ctx: Context, from_: Any, to: Any, /) -> bool:
    target = kinds.canonical(to)
    if type(from_) is Array and target not in ctx.dtypes.values():
        return False
    source = _dtype_of(from_)
    try:
        return kinds.promote(source, target) == target
    except TypeError:
        return False


@function("custom")
def finfo(ctx: Context, type: Any, /) -> FloatInfo:
    dtype = _dtype_of(type)
    if kinds.letter(dtype) not in "fc":
        raise TypeError(f"finfo got {dtype}; it takes floating-point dtypes")
    real = kinds.REAL.get(dtype, dtype)
    digits, least = kinds.DIGITS[real]
    largest = math.ldexp(2.0 - 2.0**-digits, 1 - least)
    return FloatInfo(8 * real.itemsize, 2.0**-digits, largest, -largest, 2.0**least, real)


@function("custom")
def iinfo(ctx: Context, type: Any, /) -> IntegerInfo:
    dtype = _dtype_of(type)
    if kinds.letter(dtype) not in "iu":
        raise TypeError(f"iinfo got {dtype}; it takes integer dtypes")
    low, high = kinds.limits(dtype)
    return IntegerInfo(8 * dtype.itemsize, high, low, dtype)


@function("custom")
def isdtype(ctx: Context, dtype: Any, kind: Any) -> bool:
    if isinstance(kind, tuple):
        return builtins.any(isdtype(ctx, dtype, part) for part in kind)
    if isinstance(kind, str):
        if kind not in kinds.KINDS:
            raise ValueError(
                f"{kind!r} is not a kind of dtype; use one of {', '.join(kinds.KINDS)}"
            )
        return kinds.letter(kinds.canonical(dtype)) in kinds.KINDS[kind]
    return kinds.canonical(dtype) == kinds.canonical(kind)


@function("custom")
def result_type(ctx: Context, *arrays_and_dtypes: Any) -> DType:
    result: DType | None = None
    scalars = []
    for operand in arrays_and_dtypes:
        if isinstance(operand, (bool, int, float, complex, np.generic)):
            scalars.append(kinds.scalar(operand))
            continue
        dtype = _dtype_of(operand)
        result = dtype if result is None else kinds.promote(result, dtype)
    if result is None:
        if not scalars:
            raise ValueError("result_type needs at least one array, dtype or scalar, got none")
        result = BOOL
    for value in scalars:
        result = ctx.with_scalar(result, value)
    return result
