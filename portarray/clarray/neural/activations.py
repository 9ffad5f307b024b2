"""Element-wise activations."""

from __future__ import annotations

from typing import Literal

from portarray.clarray.engine.elementwise import unary
from portarray.clarray.engine.operation import Operation
from portarray.clarray.strided import Array

_REAL = ("real", "functions")

_SILU = Operation("silu", {"real": "a / (1 + exp(-a))"}, needs={"real": _REAL})
_GELU = Operation("gelu", {"real": "r_gelu(a)"}, needs={"real": (*_REAL, "neural_gelu")})
_GELU_TANH = Operation("gelu", {"real": "r_gelu_tanh(a)"}, needs={"real": (*_REAL, "neural_gelu")})
_RELU = Operation("relu", {"real": "a < 0 ? 0 : a"})


def silu(x: Array, /) -> Array:
    """Return ``x / (1 + exp(-x))``. Within 4 ULP, but 0 where ``exp(-x)`` overflows."""
    return unary(_SILU, x)


def gelu(x: Array, /, *, approximate: Literal["none", "tanh"] = "none") -> Array:
    """Return ``x`` times the normal distribution function at ``x``, or its tanh approximation."""
    if approximate == "none":
        return unary(_GELU, x)
    if approximate == "tanh":
        return unary(_GELU_TANH, x)
    raise ValueError(f"approximate is {approximate!r}; it must be 'none' or 'tanh'")


def relu(x: Array, /) -> Array:
    """Return elements, 0 for negative ones; NaN stays."""
    return unary(_RELU, x)
