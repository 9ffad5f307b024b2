"""Bitwise operations on integer and boolean tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.promotion import Scalar, pair
from portarray.backends.torch.namespace.unsigned import UNSIGNED

_bitwise_and = torch.bitwise_and
_bitwise_left_shift = torch.bitwise_left_shift
_bitwise_or = torch.bitwise_or
_bitwise_right_shift = torch.bitwise_right_shift
_bitwise_xor = torch.bitwise_xor


def bitwise_and(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return ``x1 & x2``."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _bitwise_and(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return unsigned.wrapped(_bitwise_and, x1, x2)
    return _bitwise_and(x1, x2)


def bitwise_or(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return ``x1 | x2``."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _bitwise_or(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return unsigned.wrapped(_bitwise_or, x1, x2)
    return _bitwise_or(x1, x2)


def bitwise_xor(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return ``x1 ^ x2``."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _bitwise_xor(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return unsigned.wrapped(_bitwise_xor, x1, x2)
    return _bitwise_xor(x1, x2)


def bitwise_invert(x: Tensor, /) -> Tensor:
    """Return ``~x``."""
    if x.dtype in UNSIGNED:
        return unsigned.wrapped(torch.bitwise_not, x)
    return torch.bitwise_not(x)


def bitwise_left_shift(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return ``x1 << x2``; 0 where all bits are shifted out."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _bitwise_left_shift(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return unsigned.wrapped(_bitwise_left_shift, x1, x2)
    return _bitwise_left_shift(x1, x2)


def bitwise_right_shift(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return ``x1 >> x2``, filling with the sign."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _bitwise_right_shift(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return unsigned.shift_right(x1, x2)
    return _bitwise_right_shift(x1, x2)
