"""Comparisons, what is finite, and limits."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.promotion import SCALARS, TAKES, Scalar, pair
from portarray.backends.torch.namespace.unsigned import UNSIGNED

_equal = torch.eq
_greater = torch.gt
_greater_equal = torch.ge
_less = torch.lt
_less_equal = torch.le
_not_equal = torch.ne
_maximum = torch.maximum
_minimum = torch.minimum

isfinite = torch.isfinite
isinf = torch.isinf
isnan = torch.isnan


def equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where x1 equals x2."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _equal(x1, x2)  # type: ignore[arg-type]
    if x2.__class__ in SCALARS and dtype in TAKES[x2.__class__]:
        return _equal(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return _equal(unsigned.bits(x1), unsigned.bits(x2))
    return _equal(x1, x2)


def not_equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where x1 differs from x2."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _not_equal(x1, x2)  # type: ignore[arg-type]
    if x2.__class__ in SCALARS and dtype in TAKES[x2.__class__]:
        return _not_equal(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return _not_equal(unsigned.bits(x1), unsigned.bits(x2))
    return _not_equal(x1, x2)


def greater(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where ``x1 > x2``."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _greater(x1, x2)  # type: ignore[arg-type]
    if x2.__class__ in SCALARS and dtype in TAKES[x2.__class__]:
        return _greater(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return _greater(unsigned.ordered(x1), unsigned.ordered(x2))
    return _greater(x1, x2)


def greater_equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where ``x1 >= x2``."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _greater_equal(x1, x2)  # type: ignore[arg-type]
    if x2.__class__ in SCALARS and dtype in TAKES[x2.__class__]:
        return _greater_equal(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return _greater_equal(unsigned.ordered(x1), unsigned.ordered(x2))
    return _greater_equal(x1, x2)


def less(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where ``x1 < x2``."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _less(x1, x2)  # type: ignore[arg-type]
    if x2.__class__ in SCALARS and dtype in TAKES[x2.__class__]:
        return _less(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return _less(unsigned.ordered(x1), unsigned.ordered(x2))
    return _less(x1, x2)


def less_equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where ``x1 <= x2``."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _less_equal(x1, x2)  # type: ignore[arg-type]
    if x2.__class__ in SCALARS and dtype in TAKES[x2.__class__]:
        return _less_equal(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return _less_equal(unsigned.ordered(x1), unsigned.ordered(x2))
    return _less_equal(x1, x2)


def maximum(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the larger of each two; NaN where one is NaN."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _maximum(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        key = _maximum(unsigned.ordered(x1), unsigned.ordered(x2))
        return unsigned.unordered(key, x1.dtype)
    return _maximum(x1, x2)


def minimum(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the smaller of each two; NaN where one is NaN."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _minimum(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        key = _minimum(unsigned.ordered(x1), unsigned.ordered(x2))
        return unsigned.unordered(key, x1.dtype)
    return _minimum(x1, x2)


def clip(
    x: Tensor,
    /,
    min: Tensor | float | None = None,
    max: Tensor | float | None = None,
) -> Tensor:
    """Limit values to a range; the result keeps x's dtype.

    Bounds broadcast with x. A bound beyond what x's integer dtype holds limits nothing. NaN in x
    or in a bound gives NaN.
    """
    low = _bound(x, min, lower=True)
    high = _bound(x, max, lower=False)
    if x.dtype in UNSIGNED:
        key = (
            torch.clamp(
                unsigned.ordered(x),
                None if low is None else unsigned.ordered(low),
                None if high is None else unsigned.ordered(high),
            )
            if low is not None or high is not None
            else unsigned.ordered(x)
        )
        return unsigned.unordered(key, x.dtype)
    if low is None and high is None:
        return x.clone()
    return torch.clamp(x, low, high)


def _bound(x: Tensor, bound: Tensor | float | None, *, lower: bool) -> Tensor | None:
    if bound is None:
        return None
    if isinstance(bound, Tensor):
        return bound if bound.dtype is x.dtype else bound.to(x.dtype)
    if not x.dtype.is_floating_point:
        limits = torch.iinfo(x.dtype)
        if (bound <= limits.min) if lower else (bound >= limits.max):
            return None
        if not limits.min <= bound <= limits.max:
            raise OverflowError(
                f"clip's bound {bound} leaves no value of {x.dtype}, "
                f"whose range is {limits.min} to {limits.max}"
            )
    return torch.scalar_tensor(bound, dtype=x.dtype, device=x.device)
