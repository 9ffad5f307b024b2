"""Making arrays.

MLX's arrays have no device; ``device=`` says under which device they are made, and so which default
dtypes and limits hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import mlx.core as mx
import numpy as np

from portarray.backends.common import sizes
from portarray.backends.common.python_values import spaced, with_values, wrapped_64
from portarray.backends.mlx import devices, limits, transfer
from portarray.backends.mlx.namespace.scalars import (
    INTEGRAL,
    Scalar,
    array_of,
    default_dtype,
    widest_float,
)

_FROM_NATIVE = {native: dtype for dtype, native in devices.CPU_DTYPES.items()}

Shape = int | Sequence[int]
DType = mx.Dtype | None
Device = mx.Device | None


def check_size(shape: Sequence[int], dtype: mx.Dtype) -> tuple[int, ...]:
    """Return a shape, or raise MemoryError or ValueError where MLX cannot hold the array.

    Memory that is not there ends the process instead of raising, at some time later.
    """
    shape = tuple(map(int, shape))
    if shape and min(shape) < 0:
        raise ValueError(f"shape {shape} has a negative size; sizes are 0 or more")
    asked = math.prod(shape) * dtype.size
    if asked > _NEVER_TOO_LARGE:
        total = devices.memory(mx.default_device()).total
        if total is not None and asked > total:
            raise sizes.TooLargeError(shape, asked)
    transfer.check_shape(shape)
    return shape


_NEVER_TOO_LARGE = 2**28  # bytes: below it asking the system would cost more than it saves


def _shape(shape: Shape, dtype: mx.Dtype) -> tuple[int, ...]:
    return check_size((shape,) if isinstance(shape, int) else shape, dtype)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType = None,
    device: Device = None,
) -> mx.array:
    """Return ``start + i * step``, rounded once."""
    numbers = spaced(start, stop, step)
    with transfer.under(device):
        if numbers.whole and (dtype is None or dtype in INTEGRAL):
            return _integers(numbers.start, numbers.step, numbers.size, dtype or mx.int64)
        dtype = dtype or mx.float32
        # One rounding to the dtype at the end, not one for each of product and sum.
        wide = widest_float()
        check_size((numbers.size,), wide)
        limits.check((numbers.size,), 2 * numbers.size * wide.size)  # one and the next of the steps
        values = mx.arange(numbers.size, dtype=wide)
        values = values * array_of(numbers.step, wide) + array_of(numbers.start, wide)
        return values.astype(dtype)


def _integers(start: int, step: int, count: int, dtype: mx.Dtype) -> mx.array:
    check_size((count,), mx.int64)
    limits.check((count,), 2 * count * mx.int64.size)
    if count:
        # Each end is checked against the dtype.
        array_of(start, dtype)
        array_of(start + (count - 1) * step, dtype)
    if start == 0 and step == 1:
        return mx.arange(count, dtype=dtype)
    # Modulo 2**64 all of it is right, also for uint64 and steps that leave the dtype.
    values = mx.arange(count, dtype=mx.int64) * mx.array(wrapped_64(step), dtype=mx.int64)
    return (values + mx.array(wrapped_64(start), dtype=mx.int64)).astype(dtype)


def asarray(
    obj: Any, /, *, dtype: DType = None, device: Device = None, copy: bool | None = None
) -> mx.array:
    """Make an array of an array, a scalar, nested sequences, a buffer or a DLPack object."""
    with transfer.under(device):
        if isinstance(obj, mx.array):
            return _converted(obj, dtype, copy)
        if copy is False:
            raise ValueError(
                f"copy=False, but MLX cannot use the memory of a {type(obj).__name__}; "
                f"pass copy=None or copy=True"
            )
        if isinstance(obj, (bool, int, float, complex)):
            return array_of(obj, dtype or default_dtype(obj))
        if not isinstance(obj, (np.ndarray, np.generic)) and hasattr(obj, "__dlpack__"):
            return _converted(transfer.from_dlpack(obj, device, copy=copy), dtype, None)
        place = mx.default_device() if device is None else device
        return _converted(
            transfer.from_host(_host_array(obj, dtype), place, copy=None), dtype, None
        )


def _converted(x: mx.array, dtype: DType, copy: bool | None) -> mx.array:
    if dtype is None or x.dtype == dtype:
        return mx.array(x) if copy else x
    if copy is False:
        raise ValueError(
            f"copy=False, but {x.dtype} cannot become {dtype} without a copy; "
            f"pass copy=None or copy=True"
        )
    return x.astype(dtype)


def _host_array(obj: Any, dtype: DType) -> np.ndarray[Any, Any]:
    target = None if dtype is None or isinstance(obj, np.ndarray) else _FROM_NATIVE[dtype]
    if isinstance(obj, (list, tuple)):
        obj = with_values(
            obj, lambda item: isinstance(item, mx.array) and item.ndim == 0, mx.array.item
        )
    host = np.asarray(obj, dtype=target)
    if host.dtype.newbyteorder("=") not in devices.CPU_DTYPES:
        raise TypeError(
            f"MLX has no dtype for {host.dtype}: an array holds booleans, integers, real numbers, "
            f"or complex ones of complex64"
        )
    return host


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType = None,
    device: Device = None,
) -> mx.array:
    """Return ones on the k-th diagonal and zeros elsewhere."""
    with transfer.under(device):
        dtype = dtype or mx.float32
        rows, columns = check_size((n_rows, n_rows if n_cols is None else n_cols), dtype)
        if not -rows < k < columns:
            return mx.zeros((rows, columns), dtype=dtype)
        return mx.eye(rows, columns, k, dtype=dtype)


def from_dlpack(x: object, /, *, device: Device = None, copy: bool | None = None) -> mx.array:
    """Make an array of an object with ``__dlpack__``."""
    return transfer.from_dlpack(x, device, copy=copy)


def full(
    shape: Shape, fill_value: Scalar | mx.array, *, dtype: DType = None, device: Device = None
) -> mx.array:
    """Return an array of one value, a scalar or a 0-d array."""
    with transfer.under(device):
        if isinstance(fill_value, mx.array):
            dtype = dtype or fill_value.dtype
        else:
            dtype = dtype or default_dtype(fill_value)
            fill_value = array_of(fill_value, dtype)
        return mx.full(_shape(shape, dtype), fill_value, dtype=dtype)


def full_like(
    x: mx.array, /, fill_value: Scalar | mx.array, *, dtype: DType = None, device: Device = None
) -> mx.array:
    """Return an array of x's shape of one value."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)


def linspace(
    start: Scalar,
    stop: Scalar,
    /,
    num: int,
    *,
    dtype: DType = None,
    device: Device = None,
    endpoint: bool = True,
) -> mx.array:
    """Return num evenly spaced numbers; MLX's own computes in float32 what is not float64."""
    with transfer.under(device):
        is_complex = isinstance(start, complex) or isinstance(stop, complex)
        dtype = dtype or (mx.complex64 if is_complex else mx.float32)
        if dtype == mx.complex64:
            first, last = complex(start), complex(stop)
            real = _spaced(first.real, last.real, num, endpoint)
            imag = _spaced(first.imag, last.imag, num, endpoint)
            parts = mx.stack([real.astype(mx.float32), imag.astype(mx.float32)], axis=-1)
            return mx.view(parts, mx.complex64).reshape(num)
        return _spaced(start, stop, num, endpoint).astype(dtype)  # type: ignore[arg-type]


def _spaced(start: float, stop: float, num: int, endpoint: bool) -> mx.array:
    """Return evenly spaced numbers of the most precise dtype; the last one is exact."""
    dtype = widest_float()
    (num,) = check_size((num,), dtype)
    limits.check((num,), 3 * num * dtype.size)  # the places, the values and the result
    steps = num - 1 if endpoint else num
    places = mx.arange(num, dtype=dtype)
    first, last = array_of(start, dtype), array_of(stop, dtype)
    if steps < 1:
        return mx.broadcast_to(first, (num,))
    # Halves: the difference of large numbers of both signs is infinite.
    step = (last / 2 - first / 2) / steps * 2
    values = places * step + first
    return mx.where(places == steps, last, values)


def meshgrid(*arrays: mx.array, indexing: Literal["xy", "ij"] = "xy") -> tuple[mx.array, ...]:
    """Return coordinate arrays of one shape."""
    if not arrays:
        return ()
    check_size([x.size for x in arrays], max([x.dtype for x in arrays], key=lambda d: d.size))
    return tuple(mx.meshgrid(*[x.reshape(-1) for x in arrays], indexing=indexing))


def _constant(own: Callable[..., mx.array]) -> Callable[..., mx.array]:
    """Return the standard's ``zeros`` or ``ones``."""

    def made(shape: Shape, *, dtype: DType = None, device: Device = None) -> mx.array:
        with transfer.under(device):
            dtype = dtype or mx.float32
            return own(_shape(shape, dtype), dtype=dtype)

    return made


def _constant_like(like: Callable[..., mx.array]) -> Callable[..., mx.array]:
    def made(x: mx.array, /, *, dtype: DType = None, device: Device = None) -> mx.array:
        return like(x.shape, dtype=dtype or x.dtype, device=device)

    return made


zeros = _constant(mx.zeros)
zeros_like = _constant_like(zeros)
ones = _constant(mx.ones)
ones_like = _constant_like(ones)
empty, empty_like = zeros, zeros_like  # MLX has no memory that holds whatever it held


def tril(x: mx.array, /, *, k: int = 0) -> mx.array:
    """Return the lower triangle of matrices: what lies above the k-th diagonal is 0."""
    return mx.tril(x, _diagonal(x, k))


def triu(x: mx.array, /, *, k: int = 0) -> mx.array:
    """Return the upper triangle of matrices: what lies below the k-th diagonal is 0."""
    return mx.triu(x, _diagonal(x, k))


def _diagonal(x: mx.array, k: int) -> int:
    """Return a diagonal that MLX's 32 bits hold, with the same triangles."""
    if x.ndim < 2:
        raise ValueError(f"triangles need arrays of 2 axes or more, got {x.ndim}")
    return min(max(k, -x.shape[-2] - 1), x.shape[-1] + 1)
