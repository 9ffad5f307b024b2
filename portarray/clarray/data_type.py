"""Data type functions: conversion, promotion and the limits of dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from portarray.clarray.arguments import array_of, default_dtype, dtype_on
from portarray.clarray.array import Array
from portarray.clarray.creation import asarray
from portarray.clarray.dtypes import bfloat16, dtype_of, kind_of, promote, real_dtype_of
from portarray.clarray.engine.copy import cast
from portarray.clarray.engine.copy import copy as _copy
from portarray.clarray.runtime.device import Device, default_device, device_of

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

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
    """Limits of a floating-point dtype, as :func:`finfo` returns them.

    Attributes
    ----------
    bits : int
        Size of a real number in bits.
    eps : float
        Distance from 1.0 to the next larger number.
    max, min : float
        Largest and smallest finite number.
    smallest_normal : float
        Smallest positive number with full precision.
    dtype : numpy.dtype
        The real dtype.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerInfo:
    """Limits of an integer dtype, as :func:`iinfo` returns them.

    Attributes
    ----------
    bits : int
        Size in bits.
    max, min : int
        Largest and smallest number.
    dtype : numpy.dtype
        The dtype.
    """

    bits: int
    max: int
    min: int
    dtype: DType


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: object = None) -> Array:
    """Convert an array to a dtype.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    dtype : dtype
        Of the result.
    copy : bool, default: True
        Whether the result is a copy even where `x` has the dtype already.
    device : device-like, optional
        Where the result is; where `x` is by default.

    Returns
    -------
    Array
        Array of the shape of `x`; `x` itself if nothing changes and `copy` is False.

    Raises
    ------
    TypeError
        If `x` is complex and `dtype` neither complex nor bool: take the part you mean with
        ``real`` or ``imag``.
    DTypeNotSupportedError
        If the device has not the dtype.

    Notes
    -----
    Numbers become False if they are zero and True otherwise; booleans become 0 and 1; fractions
    are cut off on the way to integers, and integers wrap around. What NaN, infinities and numbers
    out of range become as integers differs between devices.
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
            f"astype: {x.dtype} does not become {target}; take the part you mean with real or imag"
        )
    return cast(x, target)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Tell whether promotion leads from one dtype to another.

    Parameters
    ----------
    from_ : dtype or Array
        Where to start. For an array its device must have the dtype, too.
    to : dtype
        The dtype to reach.

    Returns
    -------
    bool
        Whether the two promote to `to`.
    """
    target = dtype_of(to)
    if isinstance(from_, Array) and target not in from_.device.dtypes:
        return False
    try:
        return promote(_dtype_of(from_), target) == target
    except TypeError:  # uint64 and a signed integer
        return False


def finfo(type: Any, /) -> FloatInfo:
    """Return the limits of a floating-point dtype.

    Parameters
    ----------
    type : dtype or Array
        Real or complex floating-point dtype, or an array of one. For a complex dtype the limits
        are those of its parts.

    Returns
    -------
    FloatInfo
        Object with ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal`` (Python numbers) and
        ``dtype``.

    Raises
    ------
    TypeError
        If the dtype is not floating-point.
    """
    return _float_info(_dtype_of(type))


def iinfo(type: Any, /) -> IntegerInfo:
    """Return the limits of an integer dtype.

    Parameters
    ----------
    type : dtype or Array
        Integer dtype, or an array of one.

    Returns
    -------
    IntegerInfo
        Object with ``bits``, ``max``, ``min`` (Python integers) and ``dtype``.

    Raises
    ------
    TypeError
        If the dtype is no integer.
    """
    return _integer_info(_dtype_of(type))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Tell whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
        The dtype in question.
    kind : dtype, str or tuple of these
        A dtype to equal, or one of the kinds ``"bool"``, ``"signed integer"``,
        ``"unsigned integer"``, ``"integral"`` (the two before), ``"real floating"`` (float16 and
        bfloat16 included), ``"complex floating"`` and ``"numeric"`` (all but bool). Of a tuple one
        must fit.

    Returns
    -------
    bool
        Whether it is.

    Raises
    ------
    ValueError
        If a text names no kind.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of dtype; use one of {', '.join(KINDS)}")
        return kind_of(dtype_of(dtype)) in KINDS[kind]
    return dtype_of(dtype) == dtype_of(kind)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that arrays, dtypes and Python scalars promote to.

    Parameters
    ----------
    *arrays_and_dtypes : Array, dtype or scalar
        At least one. Scalars only raise the kind: a float beside an integer array gives the default
        real dtype of the array's device. Scalars alone give the default dtype of the highest kind
        among them.

    Returns
    -------
    numpy.dtype
        The common dtype.

    Raises
    ------
    TypeError
        If uint64 meets a signed integer: no integer dtype holds both.
    ValueError
        If nothing is given, or the arrays are on several devices.

    Notes
    -----
    Where the standard leaves a pair open the higher kind wins (bool, integer, real, complex) with
    the widest dtype of that kind: int64 with float32 gives float32.
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type needs at least one array, dtype or scalar, got none")
    device: Device | None = None
    found: DType | None = None
    scalars: list[complex] = []
    for one in arrays_and_dtypes:
        if isinstance(one, (bool, int, float, complex)):
            scalars.append(one)
            continue
        if isinstance(one, Array):
            if device is not None and device is not one.device:
                raise ValueError(
                    f"result_type got arrays of {device} and of {one.device}; move one with "
                    f"to_device"
                )
            device = one.device
        dtype = _dtype_of(one)
        found = dtype if found is None else promote(found, dtype)
    for scalar in scalars:
        found = _beside(found, scalar, device)
    assert found is not None  # an argument was a dtype or a scalar
    return found


_SCALAR_KINDS: tuple[tuple[type, str, int], ...] = (
    (bool, "bool", 0),
    (int, "integral", 1),
    (float, "real floating", 2),
    (complex, "complex floating", 3),
)
_RANKS = {"bool": 0, "signed": 1, "unsigned": 1, "real": 2, "complex": 3}


def _beside(dtype: DType | None, scalar: complex, device: Device | None) -> DType:
    """Return what a dtype becomes beside a Python scalar."""
    name, rank = next(
        (name, rank) for kind, name, rank in _SCALAR_KINDS if isinstance(scalar, kind)
    )
    if dtype is not None and _RANKS[kind_of(dtype)] >= rank:
        return dtype
    if dtype is not None and kind_of(dtype) == "real":  # complex of the same precision
        return np.dtype(np.complex128 if dtype.itemsize == 8 else np.complex64)
    return default_dtype(default_device() if device is None else device, name)


def _dtype_of(one: Any) -> DType:
    return one.dtype if isinstance(one, Array) else dtype_of(one)


@cache
def _float_info(dtype: DType) -> FloatInfo:
    if kind_of(dtype) not in ("real", "complex"):
        raise TypeError(f"finfo got {dtype}; it takes floating-point dtypes, iinfo takes integers")
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
        raise TypeError(f"iinfo got {dtype}; it takes integer dtypes, finfo takes floating-point")
    limits = np.iinfo(dtype)
    return IntegerInfo(
        bits=8 * dtype.itemsize, max=int(limits.max), min=int(limits.min), dtype=dtype
    )
