"""Dtypes of dpnp's arrays, which are NumPy's: converting, asking and promoting."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray
from dpnp.tensor import Device

from portarray.backends.dpnp import devices, transfer
from portarray.backends.dpnp.namespace.promotion import (
    Scalar,
    promote,
    scalar_dtype,
)

DType = np.dtype[Any]

isdtype = np.isdtype


def astype(
    x: ndarray, dtype: DType, /, *, copy: bool = True, device: Device | None = None
) -> ndarray:
    """Convert to a dtype; complex numbers lose their imaginary part."""
    if x.dtype.kind == "c" and dtype.kind in "iuf":
        x = dpnp.real(x)
    out = dpnp.astype(x, dtype, copy=copy)
    return out if device is None else transfer.move(out, device, copy=None)


def _dtype_of(of: DType | ndarray) -> DType:
    return of.dtype if isinstance(of, ndarray) else np.dtype(of)


def can_cast(from_: DType | ndarray, to: DType, /) -> bool:
    """Tell whether promotion takes a dtype to another."""
    source = _dtype_of(from_)
    if np.dtype(np.uint64) in (source, to) and {source.kind, to.kind} == {"i", "u"}:
        # They have no common dtype, which is an answer here and no error.
        return False
    return promote(source, to) == to


def finfo(type: DType | ndarray, /) -> Any:
    """Return the limits of a floating-point dtype."""
    return np.finfo(_dtype_of(type))


def iinfo(type: DType | ndarray, /) -> Any:
    """Return the limits of an integer dtype."""
    return np.iinfo(_dtype_of(type))


def result_type(*arrays_and_dtypes: ndarray | DType | Scalar) -> DType:
    """Return the dtype that arrays, dtypes and Python scalars meet in."""
    scalars: list[Any] = []
    dtypes: list[DType] = []
    device = None
    for item in arrays_and_dtypes:
        if isinstance(item, ndarray):
            dtypes.append(item.dtype)
            device = item.device
        elif isinstance(item, (np.dtype, type)):
            dtypes.append(np.dtype(item))
        else:
            scalars.append(item)
    if not dtypes:
        raise ValueError("result_type needs at least one array or dtype")
    dtype = promote(*dtypes)
    for scalar in scalars:
        dtype = scalar_dtype(scalar, dtype, device or devices.native_device("oneapi", 0))
    return dtype
