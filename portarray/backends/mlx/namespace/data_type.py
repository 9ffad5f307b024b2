"""Dtypes of arrays: converting, asking and promoting."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import mlx.core as mx
import numpy as np

from portarray.backends.mlx import devices
from portarray.backends.mlx.namespace.promotion import (
    COMPLEX,
    FLOATING,
    INTEGRAL,
    SIGNED,
    UNSIGNED,
    Scalar,
    promote,
    promote_types,
    scalar_dtype,
)

__all__ = ["FInfo", "IInfo", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_FROM_NATIVE = {native: dtype for dtype, native in devices.dtypes("cpu", 0).items()}

_KINDS: dict[str, frozenset[mx.Dtype]] = {
    "bool": frozenset({mx.bool_}),
    "signed integer": frozenset(SIGNED),
    "unsigned integer": frozenset(UNSIGNED),
    "integral": INTEGRAL,
    "real floating": FLOATING,
    "complex floating": COMPLEX,
    "numeric": INTEGRAL | FLOATING | COMPLEX,
}


@dataclass(frozen=True, slots=True)
class FInfo:
    """Limits of a floating-point dtype; of its parts for a complex one."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: mx.Dtype


@dataclass(frozen=True, slots=True)
class IInfo:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: mx.Dtype


def astype(
    x: mx.array,
    dtype: mx.Dtype,
    /,
    *,
    copy: builtins.bool = True,
    device: mx.Device | None = None,
) -> mx.array:
    """Convert to a dtype; complex numbers lose their imaginary part."""
    if x.dtype == dtype:
        return mx.array(x) if copy else x
    if device is None or device == mx.default_device():
        return x.astype(dtype)
    return x.astype(dtype, stream=device)


def can_cast(from_: mx.Dtype | mx.array, to: mx.Dtype, /) -> builtins.bool:
    """Tell whether promotion takes a dtype to another."""
    source = from_.dtype if isinstance(from_, mx.array) else from_
    try:
        return promote_types(source, to) == to
    except TypeError:
        # Dtypes that have no common one, which is an answer here and no error.
        return False


def finfo(type: mx.Dtype | mx.array, /) -> FInfo:
    """Return the limits of a floating-point dtype."""
    dtype = type.dtype if isinstance(type, mx.array) else type
    real = mx.float32 if dtype in COMPLEX else dtype
    if real not in FLOATING:
        raise TypeError(f"finfo is of floating-point dtypes, not {dtype}; use iinfo")
    limits: Any = (ml_dtypes if real == mx.bfloat16 else np).finfo(_FROM_NATIVE[real])
    return FInfo(
        bits=int(limits.bits),
        eps=float(limits.eps),
        max=float(limits.max),
        min=float(limits.min),
        smallest_normal=float(limits.smallest_normal),
        dtype=real,
    )


def iinfo(type: mx.Dtype | mx.array, /) -> IInfo:
    """Return the limits of an integer dtype."""
    dtype = type.dtype if isinstance(type, mx.array) else type
    if dtype not in INTEGRAL:
        raise TypeError(f"iinfo is of integer dtypes, not {dtype}; use finfo")
    limits = np.iinfo(_FROM_NATIVE[dtype])
    return IInfo(bits=limits.bits, max=int(limits.max), min=int(limits.min), dtype=dtype)


def isdtype(dtype: mx.Dtype, kind: mx.Dtype | str | tuple[mx.Dtype | str, ...]) -> builtins.bool:
    """Tell whether a dtype is of a kind."""
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str):
            if one not in _KINDS:
                raise ValueError(f"{one!r} is no kind of dtype; the kinds are {sorted(_KINDS)}")
            if dtype in _KINDS[one]:
                return True
        elif dtype == one:
            return True
    return False


def result_type(*arrays_and_dtypes: mx.array | mx.Dtype | Scalar) -> mx.Dtype:
    """Return the dtype that arrays, dtypes and Python scalars meet in."""
    scalars: list[Scalar] = []
    dtypes: list[mx.Dtype] = []
    for item in arrays_and_dtypes:
        if isinstance(item, mx.array):
            dtypes.append(item.dtype)
        elif isinstance(item, mx.Dtype):
            dtypes.append(item)
        else:
            scalars.append(item)
    if not dtypes:
        raise ValueError("result_type needs at least one array or dtype")
    dtype = promote(*dtypes)
    for scalar in scalars:
        dtype = scalar_dtype(scalar, dtype)
    return dtype
