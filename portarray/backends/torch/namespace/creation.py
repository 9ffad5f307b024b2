"""Creation of tensors; default dtypes are the device's, whatever PyTorch's are set to."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from portarray._dtypes.promotion import Scalar
from portarray.backends.common.creation import Creation
from portarray.backends.common.python_values import Spaced
from portarray.backends.torch import devices, transfer
from portarray.backends.torch.namespace.unsigned import NAMES, UNSIGNED, moving
from portarray.backends.types import Rows

_CPU = torch.device("cpu")


def default_float(device: torch.device | None) -> torch.dtype:
    """Return a device's default real dtype: float64 except on Metal, which lacks it."""
    return torch.float32 if device is not None and device.type == "mps" else torch.float64


def _default_dtype(value: Scalar, device: torch.device) -> torch.dtype:
    if isinstance(value, int):
        return torch.bool if isinstance(value, bool) else torch.int64
    real = default_float(device)
    return real.to_complex() if isinstance(value, complex) else real


def _scalar(value: Scalar, dtype: torch.dtype, device: torch.device) -> Tensor:
    if dtype not in UNSIGNED:
        try:  # half the time of torch.tensor, which rounds what is too large to infinity
            return torch.scalar_tensor(value, dtype=dtype, device=device)
        except (OverflowError, RuntimeError):
            pass
    return torch.tensor(value, dtype=dtype, device=device)


def _filled(shape: Any, value: Any, dtype: torch.dtype, device: torch.device) -> Tensor:
    if not isinstance(value, Tensor):
        try:
            return torch.full(shape, value, dtype=dtype, device=device)
        except RuntimeError as error:
            if "without overflow" not in str(error):
                raise
        value = _scalar(value, dtype, device)
    return torch.empty(shape, dtype=dtype, device=device).copy_(value)


def _identity(shape: Any, k: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    out = torch.zeros(shape, dtype=dtype, device=device)
    out.diagonal(k).fill_(1)
    return out


def _spaced_integers(numbers: Spaced, dtype: torch.dtype, device: torch.device) -> Any:
    end = numbers.start + numbers.size
    if numbers.step == 1 and dtype is torch.int64 and end < 2**63:
        return torch.arange(numbers.start, end, dtype=dtype, device=device)
    return Creation.spaced_integers(_CREATION, numbers, dtype, device)


def _evenly_spaced(
    start: Any, stop: Any, num: int, endpoint: bool, dtype: torch.dtype, device: torch.device
) -> Tensor:
    span = abs(stop / 2 - start / 2) if dtype.is_floating_point else 0.0
    if span < math.inf and span > torch.finfo(dtype).max / 2:
        # PyTorch subtracts the bounds.
        return 2 * _evenly_spaced(start / 2, stop / 2, num, endpoint, dtype, device)
    if endpoint:
        return torch.linspace(start, stop, num, dtype=dtype, device=device)
    return torch.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num].clone()


_CREATION = Creation(
    library=torch,
    array_type=Tensor,
    transfer=transfer.Transfer,
    dtypes=devices.dtypes("cpu", 0),
    default_device=lambda: _CPU,
    default_dtype=_default_dtype,
    clone=torch.clone,
    astype=torch.Tensor.to,
    scalar=_scalar,
    empty_like=torch.empty_like,
    ones_like=torch.ones_like,
    zeros_like=torch.zeros_like,
    filled=_filled,
    identity=_identity,
    broadcast=lambda x, shape, grid: x.new_empty(grid).copy_(
        x if shape[-1] == x.numel() else x.reshape(shape)
    ),
    counting=lambda size, dtype, device: torch.arange(size, dtype=dtype, device=device),
    precise_dtype=lambda dtype, device: dtype if dtype.is_complex else default_float(device),
    spaced_integers=_spaced_integers,
    evenly_spaced=_evenly_spaced,
)


__getattr__ = _CREATION.function


def _of_shape(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function of a shape that calls PyTorch's with its own defaults."""

    def create(
        shape: Any, *, dtype: torch.dtype | None = None, device: torch.device | None = None
    ) -> Tensor:
        device = device or _CPU
        dtype = dtype or default_float(device)
        if type(shape) is tuple and len(shape) == 1:
            (shape,) = shape  # a number takes two thirds of the time
        return function(shape, dtype=dtype, device=device)

    return create


empty = _of_shape(torch.empty)
ones = _of_shape(torch.ones)
zeros = _of_shape(torch.zeros)


def full(
    shape: Any,
    fill_value: Any,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Return a tensor filled with one value, a scalar or a 0-d tensor."""
    if dtype is None or isinstance(fill_value, Tensor):
        out: Tensor = _CREATION.full(shape, fill_value, dtype=dtype, device=device)
        return out
    shape = (shape,) if isinstance(shape, int) else shape
    return _filled(shape, fill_value, dtype, device or _CPU)


_EXACT = 1 << 22
"""Integers below it, and their sums, are exact in float32."""


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Return evenly spaced numbers; PyTorch counts exactly in small integers."""
    if dtype in _COUNTS and type(start) is type(stop) is type(step) is int:
        size = (stop - start + step - (1 if step > 0 else -1)) // step if step else 0
        if size > 0 and -_EXACT < start < _EXACT and -_EXACT < stop < _EXACT:
            return torch.arange(start, stop, step, dtype=dtype, device=device or _CPU)
    out: Tensor = _CREATION.arange(start, stop, step, dtype=dtype, device=device)
    return out


_COUNTS = (torch.int32, torch.int64, torch.float32, torch.float64)


asarray: Callable[..., Tensor] = _CREATION.asarray

BY_DTYPE: Rows = {name: {NAMES: moving(getattr(_CREATION, name))} for name in ("tril", "triu")}
