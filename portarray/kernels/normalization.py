"""Normalization of the last axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array.kernel import Kernel
from portarray.kernels import generic

if TYPE_CHECKING:
    from portarray._array.array import Array

__all__ = ["layer_norm", "rms_norm"]

_RMS_NORM = Kernel("rms_norm", generic.rms_norm)
_LAYER_NORM = Kernel("layer_norm", generic.layer_norm)


def rms_norm(x: Array, weight: Array | None = None, /, *, eps: float = 1e-6) -> Array:
    """Divide the last axis by the root of its mean square."""
    return _RMS_NORM(x, weight, eps=eps)


def layer_norm(
    x: Array, weight: Array | None = None, bias: Array | None = None, /, *, eps: float = 1e-5
) -> Array:
    """Give the last axis mean 0 and variance 1."""
    return _LAYER_NORM(x, weight, bias, eps=eps)
