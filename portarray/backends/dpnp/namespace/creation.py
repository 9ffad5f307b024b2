"""Creation of dpnp's arrays.

Every call names its device: otherwise dpnp takes SYCL's default device, which may end the process
(see ``devices.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray
from dpnp.tensor import Device

from portarray._dtypes.promotion import Scalar, scalar_dtype
from portarray.backends.common import sizes
from portarray.backends.common.creation import Creation
from portarray.backends.dpnp import devices, transfer
from portarray.backends.dpnp.namespace.scalars import constant

DType = np.dtype[Any]

_BOOL = np.dtype(np.bool_)
_INT64 = np.dtype(np.int64)


def device_of(device: Device | None) -> Device:
    """Return a device, the first one for None."""
    return devices.native_device("oneapi", 0) if device is None else device


@cache
def default_float(device: Device) -> DType:
    """Return a device's default real dtype: float32 where it has no double precision."""
    return np.dtype("f8" if device.sycl_device.has_aspect_fp64 else "f4")


def _default_dtype(value: Scalar, device: Device) -> DType:
    real = default_float(device)
    widest = {"i": _INT64, "f": real, "c": np.dtype(f"c{2 * real.itemsize}")}
    return scalar_dtype(value, _BOOL, widest.__getitem__)


def _shape(shape: Any, dtype: DType) -> tuple[int, ...]:
    # dpnp gets no memory for 2**64 bytes, and raises no error.
    return sizes.counted((shape,) if isinstance(shape, int) else shape, np.dtype(dtype).itemsize)


def _supported(device: Device) -> Mapping[DType, Any]:
    location = devices.device_of_native(device)
    assert location is not None  # a device of dpnp's
    return devices.dtypes(*location)


def _filled(shape: tuple[int, ...], value: Any, dtype: DType, device: Device) -> ndarray:
    value = value.item() if isinstance(value, ndarray) else value
    return dpnp.full(shape, value, dtype=dtype, device=device)


_CREATION = Creation(
    library=dpnp,
    array_type=ndarray,
    transfer=transfer.Transfer,
    default_device=lambda: device_of(None),
    default_dtype=_default_dtype,
    supported=_supported,
    shape=_shape,
    clone=dpnp.copy,
    astype=lambda x, dtype: dpnp.astype(x, dtype, copy=False),
    constant=constant,
    empty_like=dpnp.empty_like,
    ones_like=dpnp.ones_like,
    zeros_like=dpnp.zeros_like,
    tril=dpnp.tril,
    triu=dpnp.triu,
    filled=_filled,
    identity=lambda shape, k, dtype, device: dpnp.eye(*shape, k, dtype=dtype, device=device),
    broadcast=lambda x, shape, grid: dpnp.copy(
        dpnp.broadcast_to(dpnp.reshape(x, shape), grid), order="C"
    ),
    counting=lambda size, dtype, device: dpnp.arange(size, dtype=dtype, device=device),
    precise_dtype=lambda dtype, device: dtype if dtype.kind == "c" else default_float(device),
    evenly_spaced=lambda start, stop, num, endpoint, dtype, device: dpnp.linspace(
        start, stop, num, dtype=dtype, device=device, endpoint=endpoint
    ),
)


__getattr__ = _CREATION.function
