"""Making tensors.

Default dtypes are the device's own (see :mod:`promotion`), whatever the user has set as PyTorch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from portarray.backends.python_values import Spaced, check_ends, spaced, with_values, wrapped_64
from portarray.backends.torch import devices, transfer
from portarray.backends.torch.namespace.promotion import (
    INTEGRAL,
    Scalar,
    default_complex,
    default_float,
    scalar_dtype,
    together,
)
from portarray.backends.torch.namespace.unsigned import UNSIGNED, bits

_CPU = torch.device("cpu")
_TO_NATIVE = devices.dtypes("cpu", 0)
_FROM_NATIVE = {native: dtype for dtype, native in _TO_NATIVE.items()}

Shape = int | Sequence[int]


def _shape(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _scalar_default(value: Scalar, device: torch.device) -> torch.dtype:
    if isinstance(value, complex):
        return default_complex(device)
    return scalar_dtype(value, torch.bool, device)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Return evenly spaced numbers ``start + i * step`` below stop."""
    numbers = spaced(start, stop, step)
    place = _CPU if device is None else device
    if numbers.whole and (dtype is None or dtype in INTEGRAL):
        return _integers(numbers, dtype or torch.int64, place)
    dtype = dtype or default_float(place)
    # One rounding to the dtype at the end, not one for each of product and sum.
    wide = dtype if dtype.is_complex else default_float(place)
    values = torch.arange(numbers.size, dtype=wide, device=place)
    return values.mul_(numbers.step).add_(numbers.start).to(dtype)


def _integers(numbers: Spaced, dtype: torch.dtype, place: torch.device) -> Tensor:
    check_ends(numbers, dtype, torch.iinfo(dtype))
    if numbers.size < 2:
        return torch.full((numbers.size,), numbers.start, dtype=dtype, device=place)
    # Modulo 2**64 all of it is right, also for uint64 and steps that leave the dtype.
    values = torch.arange(numbers.size, dtype=torch.int64, device=place)
    return values.mul_(wrapped_64(numbers.step)).add_(wrapped_64(numbers.start)).to(dtype)


def asarray(
    obj: Any,
    /,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
    copy: bool | None = None,
) -> Tensor:
    """Make a tensor of a tensor, a scalar, nested sequences or an object with a buffer or DLPack.

    Raises
    ------
    ValueError
        If ``copy=False`` and memory cannot be shared.
    TypeError
        For strings and objects.
    """
    if isinstance(obj, Tensor):
        return _from_tensor(obj, dtype, device, copy)
    place = _CPU if device is None else device
    if isinstance(obj, (bool, int, float, complex)):
        if copy is False:
            raise ValueError("copy=False, but a scalar has no memory to share; pass copy=None")
        return torch.tensor(obj, dtype=dtype or _scalar_default(obj, place), device=place)
    if not isinstance(obj, (np.ndarray, np.generic)) and hasattr(obj, "__dlpack__"):
        tensor = transfer.from_dlpack(obj, device, copy=copy)
        return _from_tensor(tensor, dtype, device, False if copy is False else None)
    host = _host_array(obj, dtype)
    shares = isinstance(obj, (np.ndarray, memoryview)) or hasattr(obj, "__buffer__")
    if copy is False and not shares:
        raise ValueError(
            f"copy=False, but a {type(obj).__name__} has no memory to share; pass copy=None"
        )
    tensor = transfer.from_host(host, place, copy=copy)
    return _from_tensor(tensor, dtype, device, False if copy is False else None)


def _from_tensor(
    x: Tensor, dtype: torch.dtype | None, device: torch.device | None, copy: bool | None
) -> Tensor:
    dtype = dtype or x.dtype
    place = x.device if device is None else device
    if dtype is x.dtype and place == x.device:
        return x.clone() if copy else x
    if copy is False:
        raise ValueError(
            f"copy=False, but {x.dtype} on {x.device} cannot become {dtype} on {place} without "
            f"a copy; pass copy=None or copy=True"
        )
    return x.to(device=place, dtype=dtype, copy=bool(copy))


def _host_array(obj: Any, dtype: torch.dtype | None) -> np.ndarray[Any, Any]:
    target = None if dtype is None or isinstance(obj, np.ndarray) else _FROM_NATIVE[dtype]
    if isinstance(obj, (list, tuple)):
        obj = with_values(obj, _is_scalar, Tensor.item)
    host = np.asarray(obj, dtype=target)
    if host.dtype.newbyteorder("=") not in _TO_NATIVE:
        raise TypeError(
            f"PyTorch has no dtype for {host.dtype}: "
            f"a tensor holds booleans, integers, real or complex numbers"
        )
    return host


def _is_scalar(item: Any) -> bool:
    return isinstance(item, Tensor) and item.ndim == 0


def empty(
    shape: Shape, *, dtype: torch.dtype | None = None, device: torch.device | None = None
) -> Tensor:
    """Return a tensor with whatever its memory holds."""
    place = _CPU if device is None else device
    return torch.empty(_shape(shape), dtype=dtype or default_float(place), device=place)


def empty_like(
    x: Tensor, /, *, dtype: torch.dtype | None = None, device: torch.device | None = None
) -> Tensor:
    """Return an uninitialized tensor of x's shape."""
    return torch.empty_like(x, dtype=dtype, device=device, requires_grad=False)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Return ones on the k-th diagonal and zeros elsewhere."""
    out = zeros((n_rows, n_rows if n_cols is None else n_cols), dtype=dtype, device=device)
    out.diagonal(k).fill_(1)
    return out


def from_dlpack(
    x: object, /, *, device: torch.device | None = None, copy: bool | None = None
) -> Tensor:
    """Make a tensor of an object with ``__dlpack__``."""
    return transfer.from_dlpack(x, device, copy=copy)


def full(
    shape: Shape,
    fill_value: Scalar | Tensor,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Return a tensor that is filled with one value, a scalar or a 0-d tensor."""
    if isinstance(fill_value, Tensor):
        dtype = dtype or fill_value.dtype
        place = fill_value.device if device is None else device
        out = torch.empty(_shape(shape), dtype=dtype, device=place)
        return out.copy_(fill_value)
    place = _CPU if device is None else device
    return torch.full(
        _shape(shape), fill_value, dtype=dtype or _scalar_default(fill_value, place), device=place
    )


def full_like(
    x: Tensor,
    /,
    fill_value: Scalar | Tensor,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Return a tensor of x's shape that is filled with one value."""
    place = x.device if device is None else device
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=place)


def linspace(
    start: Scalar,
    stop: Scalar,
    /,
    num: int,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
    endpoint: bool = True,
) -> Tensor:
    """Return num evenly spaced numbers from start to stop."""
    place = _CPU if device is None else device
    if dtype is None:
        is_complex = isinstance(start, complex) or isinstance(stop, complex)
        dtype = default_complex(place) if is_complex else default_float(place)
    if not endpoint:
        return torch.linspace(start, stop, num + 1, dtype=dtype, device=place)[:num].clone()
    return torch.linspace(start, stop, num, dtype=dtype, device=place)


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """Return coordinate tensors of one shape, each with its own memory."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid's indexing must be 'xy' or 'ij', got {indexing!r}")
    if not arrays:
        return ()
    grids = torch.meshgrid(*together(arrays), indexing=indexing)
    return tuple(grid.clone(memory_format=torch.contiguous_format) for grid in grids)


def ones(
    shape: Shape, *, dtype: torch.dtype | None = None, device: torch.device | None = None
) -> Tensor:
    """Return ones."""
    place = _CPU if device is None else device
    return torch.ones(_shape(shape), dtype=dtype or default_float(place), device=place)


def ones_like(
    x: Tensor, /, *, dtype: torch.dtype | None = None, device: torch.device | None = None
) -> Tensor:
    """Return ones of x's shape."""
    return torch.ones_like(x, dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the lower triangle of matrices: what lies above the k-th diagonal is 0."""
    if x.dtype in UNSIGNED:
        return torch.tril(bits(x), k).view(x.dtype)
    return torch.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the upper triangle of matrices: what lies below the k-th diagonal is 0."""
    if x.dtype in UNSIGNED:
        return torch.triu(bits(x), k).view(x.dtype)
    return torch.triu(x, k)


def zeros(
    shape: Shape, *, dtype: torch.dtype | None = None, device: torch.device | None = None
) -> Tensor:
    """Return zeros."""
    place = _CPU if device is None else device
    return torch.zeros(_shape(shape), dtype=dtype or default_float(place), device=place)


def zeros_like(
    x: Tensor, /, *, dtype: torch.dtype | None = None, device: torch.device | None = None
) -> Tensor:
    """Return zeros of x's shape."""
    return torch.zeros_like(x, dtype=dtype, device=device)
