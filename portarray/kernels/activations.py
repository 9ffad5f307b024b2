"""Softmax and the activations of neural networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from portarray._array.kernel import Kernel
from portarray.kernels import generic

if TYPE_CHECKING:
    from portarray._array.array import Array

__all__ = ["gelu", "log_softmax", "relu", "silu", "softmax"]

_SOFTMAX = Kernel("softmax", generic.softmax)
_LOG_SOFTMAX = Kernel("log_softmax", generic.log_softmax)
_SILU = Kernel("silu", generic.silu)
_GELU = Kernel("gelu", generic.gelu)
_RELU = Kernel("relu", generic.relu)


def softmax(x: Array, /, *, axis: int = -1) -> Array:
    """Return the exponentials of an array's values, divided by their sum along an axis."""
    return _SOFTMAX(x, axis=axis)


def log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    """Return the logarithm of :func:`softmax`."""
    return _LOG_SOFTMAX(x, axis=axis)


def silu(x: Array, /) -> Array:
    """Return ``x * sigmoid(x)``."""
    return _SILU(x)


def gelu(x: Array, /, *, approximate: Literal["none", "tanh"] = "none") -> Array:
    """Return ``x * Phi(x)``, where Phi is the distribution function of the normal distribution."""
    return _GELU(x, approximate=approximate)


def relu(x: Array, /) -> Array:
    """Return the larger of x and 0."""
    return _RELU(x)
