"""Which dtype operands meet in, and Python scalars made into arrays.

The rule is :mod:`portarray.backends.promotion`'s. dpnp's own follows NumPy, where int64 with
float32 is float64.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray
from dpnp.tensor import Device

from portarray.backends import promotion
from portarray.backends.promotion import Scalar, promote

__all__ = [
    "Scalar",
    "cast",
    "constant",
    "default_complex",
    "default_float",
    "inexact",
    "pair",
    "promote",
    "scalar_dtype",
    "together",
]

DType = np.dtype[Any]

_INT64 = np.dtype(np.int64)
_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
_COMPLEX64 = np.dtype(np.complex64)
_COMPLEX128 = np.dtype(np.complex128)


@cache
def default_float(device: Device) -> DType:
    """Return a device's default real dtype: float32 where it has no double precision."""
    return _FLOAT64 if device.sycl_device.has_aspect_fp64 else _FLOAT32


def default_complex(device: Device) -> DType:
    """Return a device's default complex dtype."""
    return _COMPLEX128 if default_float(device) == _FLOAT64 else _COMPLEX64


@cache
def _widest(device: Device) -> dict[str, DType]:
    return {"i": _INT64, "f": default_float(device), "c": default_complex(device)}


def scalar_dtype(scalar: Scalar, dtype: DType, device: Device) -> DType:
    """Return the dtype that a Python scalar and a dtype meet in."""
    return promotion.scalar_dtype(scalar, dtype, _widest(device).__getitem__)


def constant(value: Scalar, dtype: DType, like: ndarray) -> ndarray:
    """Return a 0-d array of a scalar beside an array, of its device and kind of memory.

    The arrays are kept, since making one costs more than the operation beside it, and dpnp's own
    way, which copies the scalar from the host, costs seven times as much. Nothing writes into them.
    """
    # The text tells -0.0 from 0.0, which are equal as keys.
    return _constant(value, repr(value), dtype, like.sycl_queue, like.usm_type)


@lru_cache(maxsize=1024)
def _constant(value: Scalar, text: str, dtype: DType, queue: Any, usm_type: str) -> ndarray:
    return dpnp.full((), value, dtype=dtype, usm_type=usm_type, sycl_queue=queue)


def pair(x1: ndarray | Scalar, x2: ndarray | Scalar) -> tuple[ndarray, ndarray]:
    """Return two operands as arrays of one dtype; one of them may be a Python scalar."""
    if isinstance(x1, ndarray):
        if isinstance(x2, ndarray):
            first, second = x1.dtype, x2.dtype
            if first == second:
                return x1, x2
            dtype = promote(first, second)
            return cast(x1, dtype), cast(x2, dtype)
        first = x1.dtype
        dtype = scalar_dtype(x2, first, x1.device)
        return cast(x1, dtype), constant(x2, dtype, x1)
    if isinstance(x2, ndarray):
        second = x2.dtype
        dtype = scalar_dtype(x1, second, x2.device)
        return constant(x1, dtype, x2), cast(x2, dtype)
    raise TypeError(
        f"at least one operand must be a dpnp array, got {type(x1).__name__} and "
        f"{type(x2).__name__}"
    )


def cast(x: ndarray, dtype: DType) -> ndarray:
    """Return an array in a dtype that its values fit; itself where it has it."""
    return x if x.dtype == dtype else dpnp.astype(x, dtype, copy=False)


def inexact(x: ndarray) -> ndarray:
    """Return an array in floating point: integers and booleans in the device's default dtype."""
    return x if x.dtype.kind in "fc" else cast(x, default_float(x.device))


def together(arrays: tuple[ndarray, ...] | list[ndarray]) -> list[ndarray]:
    """Return arrays converted to the dtype that they all meet in."""
    dtype = promote(*[x.dtype for x in arrays])
    return [cast(x, dtype) for x in arrays]
