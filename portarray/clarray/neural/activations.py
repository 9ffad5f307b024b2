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
    """Return ``x / (1 + exp(-x))``. Within 4 ULP, but 0 where ``exp(-x)`` overflows.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> y = cl.neural.silu(cl.asarray([-1.0, 0.0, 1.0], dtype=cl.float32))
    >>> [round(value, 4) for value in y.tolist()]
    [-0.2689, 0.0, 0.7311]
    """
    return unary(_SILU, x)


def gelu(x: Array, /, *, approximate: Literal["none", "tanh"] = "none") -> Array:
    """Return ``x`` times the normal distribution function at ``x``, or its tanh approximation.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> x = cl.asarray([-1.0, 0.0, 1.0], dtype=cl.float32)
    >>> [round(value, 4) for value in cl.neural.gelu(x).tolist()]
    [-0.1587, 0.0, 0.8413]
    >>> [round(value, 4) for value in cl.neural.gelu(x, approximate="tanh").tolist()]
    [-0.1588, 0.0, 0.8412]
    """
    if approximate == "none":
        return unary(_GELU, x)
    if approximate == "tanh":
        return unary(_GELU_TANH, x)
    raise ValueError(f"gelu: approximate is {approximate!r}; it must be 'none' or 'tanh'")


def relu(x: Array, /) -> Array:
    """Return elements, 0 for negative ones; NaN stays.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> cl.neural.relu(cl.asarray([-1.0, 2.0, float("nan")], dtype=cl.float32)).tolist()
    [0.0, 2.0, nan]
    """
    return unary(_RELU, x)
