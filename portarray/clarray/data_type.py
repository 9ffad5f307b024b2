"""Data type functions: conversion, promotion and the limits of dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from portarray._opencl.device import Device
from portarray.clarray.arguments import array_of, default_dtype, dtype_on
from portarray.clarray.creation import asarray
from portarray.clarray.dtypes import RANK, bfloat16, dtype_of, kind_of, promote, real_dtype_of
from portarray.clarray.engine.copy import cast
from portarray.clarray.engine.copy import copy as _copy
from portarray.clarray.selection import default_device, device_of
from portarray.clarray.strided import Array

DType = np.dtype[Any]

KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("signed",),
    "unsigned integer": ("unsigned",),
    "integral": ("signed", "unsigned"),
    "real floating": ("real",),
    "complex floating": ("complex",),
    "numeric": ("signed", "unsigned", "real", "complex"),
}
"""The standard's kinds of dtypes, and what :func:`~portarray.clarray.dtypes.kind_of` calls them."""


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """Limits of a floating-point dtype, as :func:`finfo` returns them."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerInfo:
    """Limits of an integer dtype, as :func:`iinfo` returns them."""

    bits: int
    max: int
    min: int
    dtype: DType


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: object = None) -> Array:
    """Convert an array to a dtype; integers wrap.

    NaN, infinities and real numbers out of range give integers that differ between devices.
    """
    x = array_of(x, "astype")
    where = x.device if device is None else device_of(device)
    target = dtype_on(dtype, where)
    if where is not x.device:
        return asarray(x, dtype=target, device=where)
    if target == x.dtype:
        return _copy(x) if copy else x
    if x.dtype.kind == "c" and target.kind not in "cb":
        raise TypeError(
            f"astype: cannot cast {x.dtype} to {target}\n"
            f"Hint: take the real or imaginary part first"
        )
    return cast(x, target)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Return whether one dtype promotes to another."""
    target = dtype_of(to)
    if isinstance(from_, Array) and target not in from_.device.dtypes:
        return False
    try:
        return promote(_dtype_of(from_), target) == target
    except TypeError:  # uint64 and a signed integer
        return False


def finfo(type: Any, /) -> FloatInfo:
    """Return the limits of a floating-point dtype."""
    return _float_info(_dtype_of(type))


def iinfo(type: Any, /) -> IntegerInfo:
    """Return the limits of an integer dtype."""
    return _integer_info(_dtype_of(type))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, single) for single in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(
                f"isdtype: {kind!r} is not a kind of dtype\nHint: use one of {', '.join(KINDS)}"
            )
        return kind_of(dtype_of(dtype)) in KINDS[kind]
    return dtype_of(dtype) == dtype_of(kind)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that arrays, dtypes and Python scalars promote to.

    Between kinds the higher one wins (bool, integer, real, complex), with its widest dtype:
    int64 with float32 gives float32.
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type needs at least one array, dtype or scalar, got none")
    device: Device | None = None
    promoted: DType | None = None
    scalars: list[complex] = []
    for operand in arrays_and_dtypes:
        if isinstance(operand, (bool, int, float, complex)):
            scalars.append(operand)
            continue
        if isinstance(operand, Array):
            if device is not None and device is not operand.device:
                raise ValueError(
                    f"result_type got arrays of {device} and of {operand.device}\n"
                    f"Hint: move one with "
                    f"to_device"
                )
            device = operand.device
        dtype = _dtype_of(operand)
        promoted = dtype if promoted is None else promote(promoted, dtype)
    for scalar in scalars:
        promoted = _with_scalar(promoted, scalar, device)
    assert promoted is not None  # an argument was a dtype or a scalar
    return promoted


_SCALAR_KINDS: tuple[tuple[type, str, int], ...] = (
    (bool, "bool", 0),
    (int, "integral", 1),
    (float, "real floating", 2),
    (complex, "complex floating", 3),
)


def _with_scalar(dtype: DType | None, scalar: complex, device: Device | None) -> DType:
    """Return the promoted dtype of a dtype and a Python scalar."""
    name, rank = next(
        (name, rank) for kind, name, rank in _SCALAR_KINDS if isinstance(scalar, kind)
    )
    if dtype is not None and RANK[kind_of(dtype)] >= rank:
        return dtype
    if dtype is not None and kind_of(dtype) == "real":  # complex of the same precision
        return np.dtype(np.complex128 if dtype.itemsize == 8 else np.complex64)
    return default_dtype(default_device() if device is None else device, name)


def _dtype_of(operand: Any) -> DType:
    return operand.dtype if isinstance(operand, Array) else dtype_of(operand)


@cache
def _float_info(dtype: DType) -> FloatInfo:
    if kind_of(dtype) not in ("real", "complex"):
        raise TypeError(
            f"finfo: {dtype} is not a floating-point dtype\nHint: use iinfo for integers"
        )
    real = real_dtype_of(dtype)
    # NumPy does not know bfloat16's limits, and ml_dtypes is without types.
    limits_of: Any = ml_dtypes.finfo if real == bfloat16 else np.finfo
    limits = limits_of(real)
    return FloatInfo(
        bits=8 * real.itemsize,
        eps=float(limits.eps),
        max=float(limits.max),
        min=float(limits.min),
        smallest_normal=float(limits.smallest_normal),
        dtype=real,
    )


@cache
def _integer_info(dtype: DType) -> IntegerInfo:
    if kind_of(dtype) not in ("signed", "unsigned"):
        raise TypeError(
            f"iinfo: {dtype} is not an integer dtype\nHint: use finfo for floating-point dtypes"
        )
    limits = np.iinfo(dtype)
    return IntegerInfo(
        bits=8 * dtype.itemsize, max=int(limits.max), min=int(limits.min), dtype=dtype
    )
