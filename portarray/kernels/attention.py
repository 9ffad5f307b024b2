"""Scaled dot-product attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array.kernel import Kernel
from portarray.kernels import generic

if TYPE_CHECKING:
    from portarray._array.array import Array

__all__ = ["attention"]

_ATTENTION = Kernel("attention", generic.attention)


def attention(
    q: Array,
    k: Array,
    v: Array,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    mask: Array | None = None,
    key_length: int | Array | None = None,
) -> Array:
    """Return ``softmax(scale * q @ k.T + mask) @ v``, head by head."""
    return _ATTENTION(q, k, v, scale=scale, causal=causal, mask=mask, key_length=key_length)
