"""Creation of CuPy's arrays."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.common.creation import Creation
from portarray.backends.common.python_values import Spaced
from portarray.backends.cupy import devices, transfer
from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.scalars import Scalar

DType = np.dtype[Any]


def on_device(device: Any) -> AbstractContextManager[Any]:
    """Return a context that makes a device current; a null context for None."""
    context: AbstractContextManager[Any] = nullcontext() if device is None else device
    return context


def filled(out: ndarray, value: Scalar) -> ndarray:
    """Fill an array with a scalar and return it."""
    if value == 0 and isinstance(value, (float, complex)):
        kernels.fill(value, out)
    else:
        out.fill(value)
    return out


def _full(shape: tuple[int, ...], value: Any, dtype: DType, device: Any) -> ndarray:
    if not isinstance(value, ndarray):
        return filled(cupy.empty(shape, dtype), value)
    value = transfer.move(value, device, copy=None)
    with device:
        out = cupy.empty(shape, dtype)
        out[...] = value
    return out


def _astype(x: ndarray, dtype: DType) -> ndarray:
    with x.device:
        return x.astype(dtype)


def _asarray(obj: Any, /, *, dtype: DType | None = None, **options: Any) -> ndarray:
    if isinstance(obj, np.ndarray):
        obj = np.asarray(obj, dtype=dtype)
    elif not hasattr(obj, "__dlpack__") and hasattr(obj, "__cuda_array_interface__"):
        with on_device(options.get("device")):
            obj = cupy.asarray(obj)
    return Creation.asarray(_CREATION, obj, dtype=dtype, **options)


def _spaced_integers(numbers: Spaced, dtype: DType, device: Any) -> ndarray:
    out = cupy.empty((numbers.size,), dtype)
    kernels.ramp(np.uint64(numbers.start % 2**64), np.uint64(numbers.step % 2**64), out)
    return out


def _spaced_floats(numbers: Spaced, dtype: DType, device: Any) -> ndarray:
    out = cupy.empty((numbers.size,), dtype)
    kernels.arange(float(numbers.start), float(numbers.step), out)
    return out


def _evenly_spaced(
    start: Scalar, stop: Scalar, num: int, endpoint: bool, dtype: DType, device: Any
) -> ndarray:
    if not (isinstance(start, complex) or isinstance(stop, complex)):
        return cupy.linspace(start, stop, num, endpoint, dtype=dtype)
    # CuPy's linspace accepts only real ends.
    start, stop = complex(start), complex(stop)
    out = cupy.empty((num,), dtype)
    out.real = cupy.linspace(start.real, stop.real, num, endpoint)
    out.imag = cupy.linspace(start.imag, stop.imag, num, endpoint)
    return out


_CREATION = Creation(
    library=cupy,
    array_type=ndarray,
    transfer=transfer.Transfer,
    dtypes=devices.dtypes("", 0),
    scope=on_device,
    current_device=cupy.cuda.Device,
    default_dtype=lambda value, device: np.result_type(type(value)),
    clone=lambda x: transfer.move(x, x.device, copy=True),
    astype=_astype,
    asarray=_asarray,
    value=lambda x: transfer.to_host(x, copy=None),  # NumPy does not ask CuPy for values
    new=lambda name, shape, dtype, device: getattr(cupy, name)(shape, dtype),
    filled=_full,
    identity=lambda shape, k, dtype, device: cupy.eye(shape[0], shape[1], k, dtype),
    broadcast=lambda x, shape, grid: cupy.array(
        cupy.broadcast_to(x.reshape(shape), grid), order="C"
    ),
    spaced_integers=_spaced_integers,
    spaced_floats=_spaced_floats,
    evenly_spaced=_evenly_spaced,
)


__getattr__ = _CREATION.function
