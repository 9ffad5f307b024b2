"""Creation of MLX's arrays.

MLX's arrays have no device: ``device=`` is made current for the call, which decides dtypes and
memory limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mlx.core as mx

from portarray.backends.common import sizes
from portarray.backends.common.creation import Creation
from portarray.backends.common.python_values import Spaced
from portarray.backends.mlx import devices, limits, transfer
from portarray.backends.mlx.namespace.scalars import array_of, default_dtype, widest_float

_ALWAYS_FITS = 2**28  # bytes; asking the system would cost more than smaller arrays do


def check_size(shape: Sequence[int], dtype: mx.Dtype) -> tuple[int, ...]:
    """Return a shape, or raise MemoryError or ValueError where MLX cannot hold the array.

    When memory runs out, MLX ends the process later instead of raising.
    """
    shape = tuple(map(int, shape))
    if shape and min(shape) < 0:
        raise ValueError(f"shape {shape} has a negative size; sizes are 0 or more")
    nbytes = math.prod(shape) * dtype.size
    if nbytes > _ALWAYS_FITS:
        total = devices.memory(mx.default_device()).total
        if total is not None and nbytes > total:
            raise sizes.TooLargeError(shape, nbytes)
    transfer.check_shape(shape)
    return shape


def _asarray(obj: Any, /, *, device: Any = None, copy: Any = None, **options: Any) -> Any:
    if copy is False and not isinstance(obj, mx.array):
        raise ValueError(
            f"asarray: copy=False, but MLX cannot use the memory of a {type(obj).__name__}\n"
            f"Hint: pass copy=None or copy=True"
        )
    with transfer.under(device):
        return Creation.asarray(_CREATION, obj, device=device, copy=copy, **options)


def _filled(shape: Any, value: Any, dtype: mx.Dtype, device: mx.Device) -> mx.array:
    value = value if isinstance(value, mx.array) else array_of(value, dtype)
    return mx.full(shape, value, dtype=dtype)


def _identity(shape: Any, k: int, dtype: mx.Dtype, device: mx.Device) -> mx.array:
    rows, columns = shape
    if not -rows < k < columns:
        return mx.zeros(shape, dtype=dtype)
    return mx.eye(rows, columns, k, dtype=dtype)


def _counting(size: int, dtype: mx.Dtype, device: mx.Device) -> mx.array:
    check_size((size,), dtype)
    limits.check((size,), 2 * size * dtype.size)  # of two steps at a time
    return mx.arange(size, dtype=dtype)


def _spaced_integers(numbers: Spaced, dtype: mx.Dtype, device: mx.Device) -> Any:
    if numbers.start == 0 and numbers.step == 1:
        return _counting(numbers.size, dtype, device)
    return Creation.spaced_integers(_CREATION, numbers, dtype, device)


def _evenly_spaced(
    start: Any, stop: Any, num: int, endpoint: bool, dtype: mx.Dtype, device: mx.Device
) -> mx.array:
    # MLX's linspace computes in float32 unless the dtype is float64.
    if dtype != mx.complex64:
        return _spaced(start, stop, num, endpoint).astype(dtype)
    first, last = complex(start), complex(stop)
    real = _spaced(first.real, last.real, num, endpoint).astype(mx.float32)
    imag = _spaced(first.imag, last.imag, num, endpoint).astype(mx.float32)
    return mx.view(mx.stack([real, imag], axis=-1), mx.complex64).reshape(num)


def _spaced(start: float, stop: float, num: int, endpoint: bool) -> mx.array:
    """Return evenly spaced numbers of the most precise dtype; the last one is exact."""
    dtype = widest_float()
    (num,) = check_size((num,), dtype)
    limits.check((num,), 3 * num * dtype.size)  # the indices, the values and the result
    steps = num - 1 if endpoint else num
    indices = mx.arange(num, dtype=dtype)
    first, last = array_of(start, dtype), array_of(stop, dtype)
    if steps < 1:
        return mx.broadcast_to(first, (num,))
    # Halves: the difference of large numbers of both signs is infinite.
    step = (last / 2 - first / 2) / steps * 2
    return mx.where(indices == steps, last, indices * step + first)


_CREATION = Creation(
    library=mx,
    array_type=mx.array,
    transfer=transfer.Transfer,
    dtypes=devices.CPU_DTYPES,
    scope=transfer.under,
    default_device=mx.default_device,
    default_dtype=lambda value, device: default_dtype(value),
    device_of=lambda x: None,
    shape=lambda shape, dtype: check_size((shape,) if isinstance(shape, int) else shape, dtype),
    clone=mx.array,
    asarray=_asarray,
    scalar=lambda value, dtype, device: array_of(value, dtype),
    constant=lambda value, like: array_of(value, like.dtype),
    new=lambda name, shape, dtype, device: (
        # MLX has no uninitialized arrays.
        mx.ones(shape, dtype=dtype) if name == "ones" else mx.zeros(shape, dtype=dtype)
    ),
    filled=_filled,
    identity=_identity,
    broadcast=lambda x, shape, grid: mx.broadcast_to(x.reshape(shape), check_size(grid, x.dtype)),
    counting=_counting,
    precise_dtype=lambda dtype, device: widest_float(),
    spaced_integers=_spaced_integers,
    evenly_spaced=_evenly_spaced,
)


__getattr__ = _CREATION.function
