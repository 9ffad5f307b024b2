"""Trigonometric and hyperbolic functions of MLX's arrays."""

from __future__ import annotations

from functools import partial

import mlx.core as mx

from portarray.backends.composed import trigonometric as shared
from portarray.backends.mlx.namespace import floating
from portarray.backends.mlx.namespace.floating import REAL, as_real_pairs, on_gpus
from portarray.backends.types import Rows, composed


def _tanh(x: mx.array) -> mx.array:
    # At infinities the standard's zero has the sign of the imaginary part.
    result, a, b = mx.tanh(x), mx.real(x), mx.imag(x)
    end = mx.logical_and(mx.isinf(a), mx.isfinite(b))
    zero = floating.copysign(mx.zeros_like(b), b)
    real = mx.where(end, mx.sign(a), mx.real(result))
    return floating.joined(real, mx.where(end, zero, mx.imag(result)))


BY_DTYPE: Rows = {
    "acos": {"f": mx.arccos, "c": on_gpus(as_real_pairs(shared.acos_parts), mx.arccos)},
    "acosh": {"f": mx.arccosh, "c": on_gpus(as_real_pairs(shared.acosh_parts), mx.arccosh)},
    "asin": {"f": mx.arcsin, "c": on_gpus(as_real_pairs(shared.asin_parts), mx.arcsin)},
    "asinh": {"f": mx.arcsinh, "c": on_gpus(as_real_pairs(shared.asinh_parts), mx.arcsinh)},
    "atan": {"f": mx.arctan, "c": on_gpus(as_real_pairs(shared.atan_parts), mx.arctan)},
    "atan2": {"f": mx.arctan2},
    "atanh": {"f": mx.arctanh, "c": on_gpus(as_real_pairs(shared.atanh_parts), mx.arctanh)},
    "cos": {
        **floating.on_processors(floating.cos, mx.cos),
        "c": on_gpus(as_real_pairs(shared.cos_parts), mx.cos),
    },
    "cosh": {"f": mx.cosh, "c": on_gpus(as_real_pairs(shared.cosh_parts), mx.cosh)},
    "hypot": floating.by_precision(composed(partial(shared.hypot_of, REAL))),
    "sin": {
        **floating.on_processors(floating.sin, mx.sin),
        "c": on_gpus(as_real_pairs(shared.sin_parts), mx.sin),
    },
    "sinh": {"f": mx.sinh, "c": on_gpus(as_real_pairs(shared.sinh_parts), mx.sinh)},
    "tan": {"f": mx.tan, "c": on_gpus(as_real_pairs(shared.tan_parts), mx.tan)},
    "tanh": {"f": mx.tanh, "c": on_gpus(as_real_pairs(shared.tanh_parts), _tanh)},
}
