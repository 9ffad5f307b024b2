"""Making dpnp's arrays.

Every call names its device: where it has none, dpnp takes SYCL's default device, and that may be
one on which it ends the process (see ``devices.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

import dpnp
import numpy as np
from dpnp import ndarray
from dpnp.tensor import Device

from portarray._dtypes.promotion import Scalar, scalar_dtype
from portarray.backends.common import sizes
from portarray.backends.common.python_values import (
    Spaced,
    check_ends,
    spaced,
    with_values,
    wrapped_64,
)
from portarray.backends.dpnp import devices, transfer
from portarray.backends.dpnp.namespace.scalars import constant

DType = np.dtype[Any]
Shape = int | Sequence[int]

_BOOL = np.dtype(np.bool_)
_INT64 = np.dtype(np.int64)

empty_like = dpnp.empty_like
ones_like = dpnp.ones_like
tril = dpnp.tril
triu = dpnp.triu
zeros_like = dpnp.zeros_like


def device_of(device: Device | None) -> Device:
    """Return a device, the first one for None."""
    return devices.native_device("oneapi", 0) if device is None else device


@cache
def default_float(device: Device) -> DType:
    """Return a device's default real dtype: float32 where it has no double precision."""
    return np.dtype("f8" if device.sycl_device.has_aspect_fp64 else "f4")


def _default(value: Scalar, device: Device) -> DType:
    """Return the default dtype of a scalar's kind."""
    real = default_float(device)
    widest = {"i": _INT64, "f": real, "c": np.dtype(f"c{2 * real.itemsize}")}
    return scalar_dtype(value, _BOOL, widest.__getitem__)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> ndarray:
    """Return evenly spaced numbers ``start + i * step`` below stop."""
    numbers = spaced(start, stop, step)
    place = device_of(device)
    if numbers.whole and (dtype is None or dtype.kind in "iu"):
        return _integers(numbers, dtype or _INT64, place)
    dtype = dtype or default_float(place)
    # One rounding to the dtype at the end, not one for each of product and sum.
    wide = dtype if dtype.kind == "c" else default_float(place)
    return dpnp.astype(_counting(numbers, wide, place), dtype, copy=False)


def _integers(numbers: Spaced, dtype: DType, place: Device) -> ndarray:
    check_ends(numbers, dtype, np.iinfo(dtype))
    if numbers.size < 2:
        return dpnp.full((numbers.size,), numbers.start, dtype=dtype, device=place)
    # Modulo 2**64 all of it is right, also for uint64 and steps that leave the dtype.
    wrapped = numbers._replace(start=wrapped_64(numbers.start), step=wrapped_64(numbers.step))
    return dpnp.astype(_counting(wrapped, _INT64, place), dtype, copy=False)


def _counting(numbers: Spaced, dtype: DType, place: Device) -> ndarray:
    values = dpnp.arange(numbers.size, dtype=dtype, device=place)
    if numbers.step != 1:
        values *= constant(numbers.step, values)
    if numbers.start != 0 or numbers.step < 0:  # 0 times a negative step is -0.0
        values += constant(numbers.start, values)
    return values


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    copy: bool | None = None,
) -> ndarray:
    """Make an array of an array, a scalar, nested sequences or an object with a buffer or DLPack.

    Raises
    ------
    ValueError
        If ``copy=False`` and memory cannot be shared.
    TypeError
        For strings and objects.
    """
    if isinstance(obj, ndarray):
        return _from_array(obj, dtype, device, copy)
    place = device_of(device)
    if not isinstance(obj, (np.ndarray, np.generic)) and hasattr(obj, "__dlpack__"):
        return _from_array(
            transfer.from_dlpack(obj, device, copy=copy), dtype, device, copy and None
        )
    if isinstance(obj, (bool, int, float, complex)):
        dtype = dtype or _default(obj, place)
    if isinstance(obj, (list, tuple)):
        obj = with_values(obj, _is_scalar, ndarray.item)
    host = np.asarray(obj, dtype=None if isinstance(obj, np.ndarray) else dtype)
    found = devices.device_of_native(place)
    assert found is not None  # it is a device of dpnp's
    if host.dtype.newbyteorder("=") not in devices.dtypes(*found):
        raise TypeError(
            f"{place} has no dtype for {host.dtype}: "
            f"dpnp's arrays hold booleans, integers, real or complex numbers"
        )
    made = transfer.from_host(host, place, copy=copy is not False)
    return made if dtype is None else dpnp.astype(made, dtype, copy=False)


def _from_array(
    x: ndarray, dtype: DType | None, device: Device | None, copy: bool | None
) -> ndarray:
    dtype = dtype or x.dtype
    here = device is None or x.sycl_device == device.sycl_device
    if dtype == x.dtype and here:
        return dpnp.copy(x) if copy else x
    if copy is False:
        raise ValueError(
            f"copy=False, but {x.dtype} on {x.device} cannot become {dtype} on "
            f"{x.device if device is None else device} without a copy; "
            f"pass copy=None or copy=True"
        )
    out = dpnp.astype(x, dtype, copy=False)
    return out if device is None else transfer.move(out, device, copy=None)


def _is_scalar(item: Any) -> bool:
    return isinstance(item, ndarray) and item.ndim == 0


def _counted(shape: Shape, dtype: DType) -> tuple[int, ...]:
    """Return a shape; one with 2**64 bytes gets no memory from dpnp, and no error."""
    lengths = (shape,) if isinstance(shape, int) else shape
    return sizes.counted(lengths, np.dtype(dtype).itemsize)


def _filled(own: Callable[..., ndarray]) -> Callable[..., ndarray]:
    def filled(
        shape: Shape, *, dtype: DType | None = None, device: Device | None = None
    ) -> ndarray:
        place = device_of(device)
        dtype = dtype or default_float(place)
        return own(_counted(shape, dtype), dtype=dtype, device=place)

    return filled


empty = _filled(dpnp.empty)
ones = _filled(dpnp.ones)
zeros = _filled(dpnp.zeros)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Device | None = None,
) -> ndarray:
    """Return ones on the k-th diagonal and zeros elsewhere."""
    place = device_of(device)
    kept = dtype or default_float(place)
    _counted((n_rows, n_rows if n_cols is None else n_cols), kept)
    return dpnp.eye(n_rows, n_cols, k, dtype=kept, device=place)


def from_dlpack(x: object, /, *, device: Device | None = None, copy: bool | None = None) -> ndarray:
    """Make an array of an object with ``__dlpack__``."""
    return transfer.from_dlpack(x, device, copy=copy)


def full(
    shape: Shape,
    fill_value: Scalar | ndarray,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> ndarray:
    """Return an array that is filled with one value, a scalar or a 0-d array."""
    if isinstance(fill_value, ndarray):
        place = device or fill_value.device
        dtype = dtype or fill_value.dtype
        fill_value = fill_value.item()
    else:
        place = device_of(device)
        dtype = dtype or _default(fill_value, place)
    return dpnp.full(_counted(shape, dtype), fill_value, dtype=dtype, device=place)


def full_like(
    x: ndarray,
    /,
    fill_value: Scalar | ndarray,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> ndarray:
    """Return an array of x's shape that is filled with one value."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def linspace(
    start: Scalar,
    stop: Scalar,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    endpoint: bool = True,
) -> ndarray:
    """Return num evenly spaced numbers from start to stop."""
    place = device_of(device)
    if dtype is None:
        is_complex = isinstance(start, complex) or isinstance(stop, complex)
        dtype = _default(1j if is_complex else 1.0, place)
    return dpnp.linspace(start, stop, num, dtype=dtype, device=place, endpoint=endpoint)


def meshgrid(*arrays: ndarray, indexing: Literal["xy", "ij"] = "xy") -> tuple[ndarray, ...]:
    """Return coordinate arrays of one shape, each with its own memory."""
    shape, own = sizes.grid([x.size for x in arrays], indexing)
    return tuple(
        dpnp.copy(dpnp.broadcast_to(dpnp.reshape(x, one), shape), order="C")
        for x, one in zip(arrays, own, strict=True)
    )
