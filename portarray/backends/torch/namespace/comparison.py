"""Comparisons, tests for finite numbers, and ``clip``."""

from __future__ import annotations

import operator

import torch
from torch import Tensor

from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.creation import asarray
from portarray.backends.torch.namespace.unsigned import choosing, comparing, zero_or_not
from portarray.backends.types import Rows

isfinite = torch.isfinite
isinf = torch.isinf
isnan = torch.isnan

Bound = Tensor | float | None


def clip(x: Tensor, /, min: Bound = None, max: Bound = None) -> Tensor:
    """Limit values to a range; bounds have x's dtype or are scalars that it can hold."""
    low, high = _bound(x, min), _bound(x, max)
    if low is None and high is None:
        return x.clone()
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        low, high = _as_tensor(x, low), _as_tensor(x, high)
        if x.requires_grad or any(y is not None and y.requires_grad for y in (low, high)):
            # PyTorch's derivative by a bound fails if the other bound has more axes.
            arrays = [y for y in (x, low, high) if y is not None]
            broadcast = iter(torch.broadcast_tensors(*arrays))  # type: ignore[no-untyped-call]
            x, low, high = (
                next(broadcast),
                *(y if y is None else next(broadcast) for y in (low, high)),
            )
    return torch.clamp(x, low, high)  # type: ignore[arg-type]


def _clip_unsigned(x: Tensor, /, min: Bound = None, max: Bound = None) -> Tensor:
    low, high = _as_tensor(x, min), _as_tensor(x, max)
    if low is None and high is None:
        return x.clone()
    low, high = (None if bound is None else unsigned.ordered(bound) for bound in (low, high))
    return unsigned.unordered(torch.clamp(unsigned.ordered(x), low, high), x.dtype)


def _bound(x: Tensor, bound: Bound) -> Bound:
    """Return a bound that PyTorch accepts: it refuses scalars out of range of half precision."""
    if isinstance(bound, Tensor) or bound is None or not x.dtype.is_floating_point:
        return bound
    return bound if abs(bound) < 60000 else _as_tensor(x, bound)


def _as_tensor(x: Tensor, bound: Bound) -> Tensor | None:
    if bound is None or isinstance(bound, Tensor):
        return bound
    return asarray(bound, dtype=x.dtype, device=x.device)


BY_DTYPE: Rows = {
    "clip": {unsigned.NAMES: _clip_unsigned},
    "equal": {"biufc": torch.eq, unsigned.NAMES: zero_or_not(torch.eq)},
    "greater": {"iuf": torch.gt, unsigned.NAMES: comparing(torch.gt)},
    "greater_equal": {"iuf": torch.ge, unsigned.NAMES: comparing(torch.ge)},
    "less": {"iuf": torch.lt, unsigned.NAMES: comparing(torch.lt)},
    "less_equal": {"iuf": torch.le, unsigned.NAMES: comparing(torch.le)},
    "maximum": {"iuf": torch.maximum, unsigned.NAMES: choosing(torch.maximum)},
    "minimum": {"iuf": torch.minimum, unsigned.NAMES: choosing(torch.minimum)},
    "not_equal": {"biufc": torch.ne, unsigned.NAMES: zero_or_not(torch.ne)},
}
# Operators also accept the scalar first.
WITH_PYTHON_SCALAR: Rows = {
    "equal": {"bifc uint8": operator.eq},
    "greater": {"if uint8": operator.gt},
    "greater_equal": {"if uint8": operator.ge},
    "less": {"if uint8": operator.lt},
    "less_equal": {"if uint8": operator.le},
    "not_equal": {"bifc uint8": operator.ne},
}
