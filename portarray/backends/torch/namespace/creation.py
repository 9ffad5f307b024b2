"""Making tensors.

Default dtypes are the device's own, whatever the user has set as PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from portarray.backends.common.python_values import (
    Spaced,
    check_ends,
    spaced,
    with_values,
    wrapped_64,
)
from portarray.backends.torch import devices, transfer
from portarray.backends.torch.namespace.unsigned import NAMES, UNSIGNED, moving
from portarray.backends.types import Rows

_CPU = torch.device("cpu")
_TO_NATIVE = devices.dtypes("cpu", 0)
_WHOLE = frozenset(native for dtype, native in _TO_NATIVE.items() if dtype.kind in "iu")
_FROM_NATIVE = {native: dtype for dtype, native in _TO_NATIVE.items()}

Scalar = bool | int | float | complex
Shape = int | Sequence[int]


def default_float(device: torch.device | None) -> torch.dtype:
    """Return a device's default real dtype: float64 but on Metal, which has none."""
    return torch.float32 if device is not None and device.type == "mps" else torch.float64


def _scalar_default(value: Scalar, device: torch.device | None) -> torch.dtype:
    if isinstance(value, bool):
        return torch.bool
    if isinstance(value, int):
        return torch.int64
    real = default_float(device)
    return real.to_complex() if isinstance(value, complex) else real


def _shape(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


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
    if numbers.whole and (dtype is None or dtype in _WHOLE):
        return _integers(numbers, dtype or torch.int64, place)
    dtype = dtype or default_float(place)
    # One rounding to the dtype at the end, not one for each of product and sum.
    wide = dtype if dtype.is_complex else default_float(place)
    values = torch.arange(numbers.size, dtype=wide, device=place)
    if numbers.step != 1:
        values.mul_(numbers.step)
    if numbers.start != 0 or numbers.step < 0:  # 0 times a negative step is -0
        values.add_(numbers.start)
    return values.to(dtype)


def _integers(numbers: Spaced, dtype: torch.dtype, place: torch.device) -> Tensor:
    limits = torch.iinfo(dtype)
    check_ends(numbers, dtype, limits)
    end = numbers.start + numbers.size
    if numbers.step == 1 and dtype is torch.int64 and end <= limits.max:
        return torch.arange(numbers.start, end, dtype=dtype, device=place)
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
        dtype = dtype or _scalar_default(obj, place)
        if dtype not in UNSIGNED:
            try:  # half the time of torch.tensor, which rounds what is too large to infinity
                return torch.scalar_tensor(obj, dtype=dtype, device=place)
            except (OverflowError, RuntimeError):
                pass
        return torch.tensor(obj, dtype=dtype, device=place)
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
    if dtype is None or tensor.dtype is dtype:
        return tensor
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


def _made(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function of a shape from PyTorch's."""

    def make(
        shape: Shape, *, dtype: torch.dtype | None = None, device: torch.device | None = None
    ) -> Tensor:
        return function(shape, dtype=dtype or default_float(device), device=device or _CPU)

    return make


empty = _made(torch.empty)
ones = _made(torch.ones)
zeros = _made(torch.zeros)
empty_like = torch.empty_like
ones_like = torch.ones_like
zeros_like = torch.zeros_like


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
    dtype = dtype or _scalar_default(fill_value, place)
    try:
        return torch.full(_shape(shape), fill_value, dtype=dtype, device=place)
    except RuntimeError as error:
        if "without overflow" not in str(error):
            raise
        return full(shape, asarray(fill_value, dtype=dtype, device=place))


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
        dtype = _scalar_default(1j if is_complex else 1.0, place)
    if not endpoint:
        return torch.linspace(start, stop, num + 1, dtype=dtype, device=place)[:num].clone()
    return torch.linspace(start, stop, num, dtype=dtype, device=place)


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """Return coordinate tensors of one shape, each with its own memory."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid's indexing must be 'xy' or 'ij', got {indexing!r}")
    places = [*range(len(arrays))]
    if indexing == "xy":
        places[:2] = places[1::-1]
    shape = [arrays[place].numel() for place in places]
    grids = []
    for x, place in zip(arrays, places, strict=True):
        column = x.reshape(x.numel(), *[1] * (len(arrays) - 1 - place))
        grids.append(x.new_empty(shape).copy_(column))
    return tuple(grids)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the lower triangle of matrices: what lies above the k-th diagonal is 0."""
    return torch.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the upper triangle of matrices: what lies below the k-th diagonal is 0."""
    return torch.triu(x, k)


ROWS: Rows = {"tril": {NAMES: moving(tril)}, "triu": {NAMES: moving(triu)}}
