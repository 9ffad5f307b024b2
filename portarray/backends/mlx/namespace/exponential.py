"""Exponentials, logarithms, powers and roots of MLX's arrays."""

from __future__ import annotations

from functools import partial

import mlx.core as mx

from portarray.backends.composed import exponential as shared
from portarray.backends.mlx.namespace import floating
from portarray.backends.mlx.namespace.floating import REAL, as_real_pairs, on_gpus
from portarray.backends.mlx.namespace.scalars import inplace
from portarray.backends.mlx.tracing import is_traced
from portarray.backends.types import Rows


def _signed_pow(x1: mx.array, x2: mx.array) -> mx.array:
    negative = mx.any(mx.less(x2, 0))
    if not is_traced(negative) and bool(negative):
        raise ValueError("integers have no negative powers; convert x1 to a floating-point dtype")
    return mx.power(x1, x2)


def _complex_pow(x1: mx.array, x2: mx.array) -> mx.array:
    power: mx.array = shared.pow_of_zero(REAL, x1, x2, mx.power(x1, x2))
    return power


BY_DTYPE: Rows = {
    "exp": {
        **floating.on_processors(floating.exp, mx.exp),
        "c": on_gpus(as_real_pairs(shared.exp_parts), mx.exp),
    },
    # MLX does not have it for complex numbers.
    "expm1": {"f": mx.expm1, "c": as_real_pairs(shared.expm1_parts)},
    "log": {"f": mx.log, "c": on_gpus(as_real_pairs(shared.log_parts), mx.log)},
    "log10": {"f": mx.log10, "c": on_gpus(as_real_pairs(shared.log10_parts), mx.log10)},
    # mx.log1p computes the modulus of the rounded 1 + x.
    "log1p": {"f": mx.log1p, "c": as_real_pairs(shared.log1p_parts)},
    "log2": {"f": mx.log2, "c": on_gpus(as_real_pairs(shared.log2_parts), mx.log2)},
    # mx.logaddexp of float64 has float32's precision, like mx.exp.
    "logaddexp": {
        "float32": mx.logaddexp,
        "float64": partial(shared.logaddexp_of, REAL),
        "float16 bfloat16": floating.through_single(mx.logaddexp),
    },
    "pow": {"uf": mx.power, "i": _signed_pow, "c": _complex_pow},
    "sqrt": {"f": mx.sqrt, "c": on_gpus(as_real_pairs(shared.sqrt_parts), mx.sqrt)},
    "square": {"iufc": mx.square},
}
IN_PLACE: Rows = inplace(BY_DTYPE, "pow")
