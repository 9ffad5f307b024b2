"""Gradients of core kernels that are cheaper than those of their generic versions."""

from __future__ import annotations

import math
from typing import Any

from portarray._array import call
from portarray._namespace import pa
from portarray._transforms.rules.matrices import with_strong_zeros
from portarray._transforms.rules.table import (
    RULES,
    conj,
    define,
    in_single,
    scaled,
    summed_to,
    times,
)

_FAR = 40.0
"""A value at which the normal density is 0 in every dtype and its square is finite."""


def _relu(g: Any, y: Any, x: Any) -> Any:
    return call.where(x > 0, g, 0)


@times
def _silu(y: Any, x: Any) -> Any:
    s = 1 / (1 + pa.exp(-x))
    # y is NaN at -inf.
    return s + pa.where(pa.isinf(x), 0, y * (1 - s))


@times
def _gelu(y: Any, x: Any, *, approximate: str) -> Any:
    near = pa.clip(x, -_FAR, _FAR)
    if approximate == "tanh":
        c = math.sqrt(2 / math.pi)
        t = pa.tanh(c * (near + 0.044715 * near**3))
        slope = c * (1 + 3 * 0.044715 * near * near)
        return 0.5 * (1 + t + near * (1 - t * t) * slope)
    # The normal distribution function is y / x, and 1/2 at 0; y may be NaN at infinities.
    below = pa.where(near == x, y, pa.where(near > 0, near, 0)) / pa.where(near == 0, 1, near)
    density = pa.exp(near * near * -0.5) * (1 / math.sqrt(2 * math.pi))
    below = pa.where(near == 0, 0.5 + near * density, below)  # with its derivative
    return below + near * density


def _softmax(g: Any, y: Any, x: Any, *, axis: int) -> Any:
    # A row of -inf is NaN, and so is its softmax.
    return scaled(g - pa.sum(scaled(g, y), axis=axis, keepdims=True), y)


def _log_softmax(g: Any, y: Any, x: Any, *, axis: int) -> Any:
    return g - scaled(pa.sum(g, axis=axis, keepdims=True), pa.exp(y))


def _solve_triangular(gs: Any, ys: Any, needs_grad: Any, a: Any, b: Any, **options: Any) -> Any:
    (g,), (x,) = gs, ys
    transpose = options["transpose"]
    second = pa.kernels.solve_triangular(conj(a), g, **{**options, "transpose": not transpose})
    stack = g.ndim - min(b.ndim, 2)
    second = with_strong_zeros(second, stack, g)
    parts: list[Any] = [None, summed_to(second, b.shape)]
    if needs_grad[0]:
        if b.ndim == 1:
            second, x = second[..., None], x[..., None]
        whole = -(conj(x) @ second.mT if transpose else second @ conj(x).mT)
        whole = with_strong_zeros(whole, stack, g)
        half, inner = (pa.tril, -1) if options["lower"] else (pa.triu, 1)
        parts[0] = summed_to(half(whole, k=inner if options["unit_diagonal"] else 0), a.shape)
    return parts


RULES["kernels.solve_triangular"] = _solve_triangular
define(
    {
        "kernels.gelu": in_single(_gelu),
        "kernels.log_softmax": in_single(_log_softmax),
        "kernels.relu": in_single(_relu),
        "kernels.silu": in_single(_silu),
        "kernels.softmax": in_single(_softmax),
    }
)
