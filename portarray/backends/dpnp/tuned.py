"""Core kernels for dpnp: activations in one buffer.

Each operation of dpnp is a launch and a pass over memory, and allocating a result takes as long
again. Softmax, norms and rope gain nothing measurable, and products already use oneMKL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import dpnp
from dpnp.scipy import special

from portarray.backends.dpnp.namespace.scalars import constant
from portarray.backends.types import TunedKernel

FLOATING = frozenset({"float16", "float32", "float64"})


def _silu(x: Any, /) -> Any:
    wide = _wide(x)
    out = dpnp.negative(wide)
    return _divided(wide, out, x)


def _gelu(x: Any, /, *, approximate: str) -> Any:
    wide = _wide(x)
    if approximate == "tanh":
        # (1 + tanh(y)) / 2 is 1 / (1 + exp(-2 y)), which does not cancel far below 0.
        slope = -math.sqrt(8 / math.pi)
        out = dpnp.multiply(wide, wide)
        dpnp.multiply(out, constant(0.044715 * slope, out), out=out)
        dpnp.add(out, constant(slope, out), out=out)
        dpnp.multiply(out, wide, out=out)
        return _divided(wide, out, x)
    out = dpnp.multiply(wide, constant(math.sqrt(0.5), wide))
    special.erf(out, out=out)
    half = constant(0.5, out)
    dpnp.multiply(out, half, out=out)
    dpnp.add(out, half, out=out)
    dpnp.multiply(out, wide, out=out)
    return out if out.dtype == x.dtype else out.astype(x.dtype)


def _divided(wide: Any, power: Any, x: Any) -> Any:
    """Return ``wide / (1 + exp(power))`` in the dtype of x, overwriting ``power``."""
    dpnp.exp(power, out=power)
    dpnp.add(power, constant(1.0, power), out=power)
    dpnp.divide(wide, power, out=power)
    return power if power.dtype == x.dtype else power.astype(x.dtype)


def _wide(x: Any) -> Any:
    return x.astype(dpnp.float32) if x.dtype == dpnp.float16 else x


def _row(function: Callable[..., Any], name: str, wins: str) -> tuple[TunedKernel]:
    return (TunedKernel(function, name, FLOATING, wins),)


TUNED: Mapping[str, tuple[TunedKernel, ...]] = {
    "silu": _row(_silu, "one exponential and a quotient, in place", "silu 512x576"),
    "gelu": _row(_gelu, "dpnp.scipy.special.erf, in place", "gelu 512x576"),
}
