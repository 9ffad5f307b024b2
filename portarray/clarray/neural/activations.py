"""Activations, element by element."""

from __future__ import annotations

from typing import Literal

from portarray.clarray.array import Array
from portarray.clarray.engine.elementwise import unary
from portarray.clarray.engine.operation import Operation

__all__ = ["gelu", "relu", "silu"]

_REAL = ("real", "functions")

_SILU = Operation("silu", {"real": "a / (1 + exp(-a))"}, needs={"real": _REAL})
_GELU = Operation("gelu", {"real": "r_gelu(a)"}, needs={"real": (*_REAL, "neural_gelu")})
_GELU_TANH = Operation("gelu", {"real": "r_gelu_tanh(a)"}, needs={"real": (*_REAL, "neural_gelu")})
_RELU = Operation("relu", {"real": "a < 0 ? 0 : a"})


def silu(x: Array, /) -> Array:
    """Return ``x / (1 + exp(-x))``.

    Parameters
    ----------
    x : Array
        Real floating-point. float16 and bfloat16 are computed as float32.

    Returns
    -------
    Array
        Of the shape and dtype of ``x``; NaN for -inf. Within 4 ULP, but for results so close to 0
        that ``exp(-x)`` overflows: these are 0.

    Raises
    ------
    TypeError
        For other dtypes.
    """
    return unary(_SILU, x)


def gelu(x: Array, /, *, approximate: Literal["none", "tanh"] = "none") -> Array:
    """Return x times the distribution function of the normal distribution at x.

    Parameters
    ----------
    x : Array
        Real floating-point. float16 and bfloat16 are computed as float32.
    approximate : {"none", "tanh"}
        "tanh" computes ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))`` instead, which
        is up to 0.0005 away.

    Returns
    -------
    Array
        Of the shape and dtype of ``x``. NaN for -inf.

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If ``approximate`` is neither of the two.
    """
    if approximate == "none":
        return unary(_GELU, x)
    if approximate == "tanh":
        return unary(_GELU_TANH, x)
    raise ValueError(f"approximate is {approximate!r}; it must be 'none' or 'tanh'")


def relu(x: Array, /) -> Array:
    """Return elements, and 0 instead of negative ones.

    Parameters
    ----------
    x : Array
        Real floating-point.

    Returns
    -------
    Array
        Of the shape and dtype of ``x``. NaN stays.

    Raises
    ------
    TypeError
        For other dtypes.
    """
    return unary(_RELU, x)
