"""Making arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.common.python_values import check_ends, spaced, with_values
from portarray.backends.cupy import devices, transfer
from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.manipulation import broadcast_arrays
from portarray.backends.cupy.namespace.scalars import Scalar

DType = np.dtype[Any]
Shape = int | Sequence[int]

_DTYPES = devices.dtypes("", 0)


def on_device(device: Any) -> AbstractContextManager[Any]:
    """Make a device current, where one is named."""
    found: AbstractContextManager[Any] = nullcontext() if device is None else device
    return found


def _shape(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Any = None,
) -> ndarray:
    """Return evenly spaced numbers ``start + i * step`` below stop."""
    numbers = spaced(start, stop, step)
    if dtype is None:
        dtype = np.dtype(np.int64 if numbers.whole else np.float64)
    whole = numbers.whole and dtype.kind in "iu"
    if whole:
        check_ends(numbers, dtype, np.iinfo(dtype))
    with on_device(device):
        out = cupy.empty((numbers.size,), dtype)
        if whole:
            kernels.ramp(np.uint64(numbers.start % 2**64), np.uint64(numbers.step % 2**64), out)
        else:
            kernels.arange(float(numbers.start), float(numbers.step), out)
    return out


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None
) -> ndarray:
    """Make an array of an array, a scalar, nested sequences or an object with a buffer or DLPack.

    Raises
    ------
    ValueError
        If ``copy=False`` and memory cannot be shared.
    TypeError
        For strings and objects.
    """
    if not isinstance(obj, ndarray) and not isinstance(obj, (np.ndarray, np.generic)):
        if hasattr(obj, "__dlpack__"):
            obj, copy = (
                transfer.from_dlpack(obj, device, copy=copy),
                False if copy is False else None,
            )
        elif hasattr(obj, "__cuda_array_interface__"):
            with on_device(device):
                obj = cupy.asarray(obj)
    if isinstance(obj, ndarray):
        return _from_array(obj, dtype, device, copy)
    host = _host_array(obj, dtype)
    return transfer.from_host(host, cupy.cuda.Device() if device is None else device, copy=copy)


def _from_array(x: ndarray, dtype: DType | None, device: Any, copy: bool | None) -> ndarray:
    if dtype is not None and dtype != x.dtype:
        if copy is False:
            raise ValueError(
                f"copy=False, but {x.dtype} cannot become {dtype} without a copy; "
                f"pass copy=None or copy=True"
            )
        with x.device:
            x, copy = x.astype(dtype), None
    return transfer.move(x, x.device if device is None else device, copy=copy)


def _host_array(obj: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    if isinstance(obj, (list, tuple)):
        obj = with_values(obj, _is_array, _on_host)
    host = np.asarray(obj, dtype=dtype)
    if host.dtype.newbyteorder("=") not in _DTYPES:
        raise TypeError(
            f"CuPy has no dtype for {host.dtype}: "
            f"an array holds booleans, integers, real or complex numbers"
        )
    return host


def _is_array(item: Any) -> bool:
    return isinstance(item, ndarray)


def _on_host(item: ndarray) -> np.ndarray[Any, Any]:
    return transfer.to_host(item, copy=None)  # NumPy does not ask CuPy for values


def _making(own: Callable[..., ndarray]) -> tuple[Callable[..., ndarray], Callable[..., ndarray]]:
    """Return a creation function of a shape, and the one of an array's shape."""

    def of_shape(shape: Shape, *, dtype: DType | None = None, device: Any = None) -> ndarray:
        with on_device(device):
            return own(_shape(shape), dtype or np.float64)

    def like(x: ndarray, /, *, dtype: DType | None = None, device: Any = None) -> ndarray:
        return of_shape(
            x.shape, dtype=dtype or x.dtype, device=x.device if device is None else device
        )

    return of_shape, like


empty, empty_like = _making(cupy.empty)
ones, ones_like = _making(cupy.ones)
zeros, zeros_like = _making(cupy.zeros)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Any = None,
) -> ndarray:
    """Return ones on the k-th diagonal and zeros elsewhere."""
    with on_device(device):
        return cupy.eye(n_rows, n_cols, k, dtype or np.float64)


def from_dlpack(x: object, /, *, device: Any = None, copy: bool | None = None) -> ndarray:
    """Make an array of an object with ``__dlpack__``."""
    return transfer.from_dlpack(x, device, copy=copy)


def full(
    shape: Shape,
    fill_value: Scalar | ndarray,
    *,
    dtype: DType | None = None,
    device: Any = None,
) -> ndarray:
    """Return an array that is filled with one value, a scalar or a 0-d array."""
    if isinstance(fill_value, ndarray):
        place = fill_value.device if device is None else device
        value = transfer.move(fill_value, place, copy=None)
        with place:
            out = cupy.empty(_shape(shape), dtype or value.dtype)
            out[...] = value
        return out
    if dtype is None:
        dtype = np.result_type(type(fill_value))
    with on_device(device):
        return filled(cupy.empty(_shape(shape), dtype), fill_value)


def filled(out: ndarray, value: Scalar) -> ndarray:
    """Fill an array with a scalar and return it."""
    if value == 0 and isinstance(value, (float, complex)):
        kernels.fill(value, out)
    else:
        out.fill(value)
    return out


def full_like(
    x: ndarray,
    /,
    fill_value: Scalar | ndarray,
    *,
    dtype: DType | None = None,
    device: Any = None,
) -> ndarray:
    """Return an array of x's shape that is filled with one value."""
    place = x.device if device is None else device
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=place)


def linspace(
    start: Scalar,
    stop: Scalar,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> ndarray:
    """Return num evenly spaced numbers from start to stop."""
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    if dtype is None:
        dtype = np.dtype(np.complex128 if is_complex else np.float64)
    with on_device(device):
        if not is_complex:
            return cupy.linspace(start, stop, num, endpoint, dtype=dtype)
        # CuPy's own takes real ends only.
        start, stop = complex(start), complex(stop)
        out = cupy.empty((num,), dtype)
        out.real = cupy.linspace(start.real, stop.real, num, endpoint)
        out.imag = cupy.linspace(start.imag, stop.imag, num, endpoint)
        return out


def meshgrid(*arrays: ndarray, indexing: Literal["xy", "ij"] = "xy") -> tuple[ndarray, ...]:
    """Return coordinate arrays of one shape, each with its own memory."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid's indexing must be 'xy' or 'ij', got {indexing!r}")
    if not arrays:
        return ()
    for x in arrays:
        if x.ndim > 1:
            raise ValueError(f"meshgrid takes arrays of one axis, got {x.ndim}")
    places = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        places[:2] = 1, 0
    spread = [
        x.reshape([-1 if other == place else 1 for other in range(len(arrays))])
        for place, x in zip(places, arrays, strict=True)
    ]
    return tuple(cupy.array(grid, order="C") for grid in broadcast_arrays(*spread))


def tril(x: ndarray, /, *, k: int = 0) -> ndarray:
    """Return the lower triangle of matrices: what lies above the k-th diagonal is 0."""
    _check_matrices("tril", x)
    return cupy.tril(x, k)


def triu(x: ndarray, /, *, k: int = 0) -> ndarray:
    """Return the upper triangle of matrices: what lies below the k-th diagonal is 0."""
    _check_matrices("triu", x)
    return cupy.triu(x, k)


def _check_matrices(name: str, x: ndarray) -> None:
    if x.ndim < 2:
        raise ValueError(f"{name} needs at least 2 axes, got {x.ndim}")
