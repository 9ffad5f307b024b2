"""Functions of dtypes."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from portarray_conformance.reference import kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.kinds import BOOL, DType
from portarray_conformance.reference.registry import function

if TYPE_CHECKING:
    from portarray_conformance.reference.rules import Rules


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


@function("own")
def can_cast(rules: Rules, from_: Any, to: Any, /) -> bool:
    target = kinds.canonical(to)
    if type(from_) is Array and target not in rules.dtypes.values():
        return False
    source = _dtype_of(from_)
    try:
        return kinds.promote(source, target) == target
    except TypeError:
        return False


@function("own")
def finfo(rules: Rules, type: Any, /) -> FloatInfo:
    dtype = _dtype_of(type)
    if kinds.letter(dtype) not in "fc":
        raise TypeError(f"finfo got {dtype}; it takes floating-point dtypes")
    real = kinds.REAL.get(dtype, dtype)
    digits, least = kinds.DIGITS[real]
    largest = math.ldexp(2.0 - 2.0**-digits, 1 - least)
    return FloatInfo(8 * real.itemsize, 2.0**-digits, largest, -largest, 2.0**least, real)


@function("own")
def iinfo(rules: Rules, type: Any, /) -> IntegerInfo:
    dtype = _dtype_of(type)
    if kinds.letter(dtype) not in "iu":
        raise TypeError(f"iinfo got {dtype}; it takes integer dtypes")
    low, high = kinds.limits(dtype)
    return IntegerInfo(8 * dtype.itemsize, high, low, dtype)


@function("own")
def isdtype(rules: Rules, dtype: Any, kind: Any) -> bool:
    if isinstance(kind, tuple):
        return builtins.any(isdtype(rules, dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in kinds.KINDS:
            raise ValueError(f"{kind!r} is no kind of dtype; use one of {', '.join(kinds.KINDS)}")
        return kinds.letter(kinds.canonical(dtype)) in kinds.KINDS[kind]
    return kinds.canonical(dtype) == kinds.canonical(kind)


@function("own")
def result_type(rules: Rules, *arrays_and_dtypes: Any) -> DType:
    found: DType | None = None
    scalars = []
    for one in arrays_and_dtypes:
        if isinstance(one, (bool, int, float, complex, np.generic)):
            scalars.append(kinds.scalar(one))
            continue
        dtype = _dtype_of(one)
        found = dtype if found is None else kinds.promote(found, dtype)
    if found is None:
        if not scalars:
            raise ValueError("result_type needs at least one array, dtype or scalar, got none")
        found = BOOL
    for value in scalars:
        found = rules.with_scalar(found, value)
    return found
