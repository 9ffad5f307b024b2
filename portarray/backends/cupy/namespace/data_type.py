"""Dtypes of arrays, which are NumPy's: converting, asking and promoting."""

from __future__ import annotations

from typing import Any

import numpy as np
from cupy import ndarray

from portarray.backends.cupy import transfer
from portarray.backends.cupy.namespace.promotion import result_type

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

DType = np.dtype[Any]

isdtype = np.isdtype


def astype(x: ndarray, dtype: DType, /, *, copy: bool = True, device: Any = None) -> ndarray:
    """Convert to a dtype; complex numbers lose their imaginary part."""
    if device is not None and device != x.device:
        return transfer.move(astype(x, dtype, copy=False), device, copy=None)
    dtype = np.dtype(dtype)
    if x.dtype.kind == "c" and dtype.kind != "c":
        # CuPy would warn of it.
        x = x != 0 if dtype.kind == "b" else x.real
    return x.astype(dtype, copy=copy)


def can_cast(from_: DType | ndarray, to: DType, /) -> bool:
    """Tell whether promotion takes a dtype to another."""
    return np.can_cast(_dtype_of(from_), to)


def finfo(type: DType | ndarray, /) -> np.finfo[Any]:
    """Return the limits of a floating-point dtype; of its parts for a complex one."""
    return np.finfo(_dtype_of(type))


def iinfo(type: DType | ndarray, /) -> np.iinfo[Any]:
    """Return the limits of an integer dtype."""
    return np.iinfo(_dtype_of(type))


def _dtype_of(x: DType | ndarray) -> DType:
    dtype: DType = x.dtype if isinstance(x, ndarray) else np.dtype(x)
    return dtype
