"""dpnp's own functions, for arrays of the dtypes on which they do right.

What they do wrong elsewhere, and why, stands with the function of the same name in this namespace.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np

__all__ = ["direct"]

Function = Callable[..., Any]

_EVERY: dict[str, Function] = {
    "all": dpnp.all,
    "any": dpnp.any,
    "count_nonzero": dpnp.count_nonzero,
    "equal": dpnp.equal,
    # dpnp raises for the keys that it does not take.
    "getitem": operator.getitem,
    "not_equal": dpnp.not_equal,
    "positive": dpnp.copy,
}
_NUMERIC: dict[str, Function] = {
    **_EVERY,
    "abs": dpnp.abs,
    "add": dpnp.add,
    "isfinite": dpnp.isfinite,
    "isinf": dpnp.isinf,
    "isnan": dpnp.isnan,
    "multiply": dpnp.multiply,
    "negative": dpnp.negative,
    "pow": dpnp.pow,
    "prod": dpnp.prod,
    "square": dpnp.square,
    "subtract": dpnp.subtract,
    "sum": dpnp.sum,
}
_REAL: dict[str, Function] = {
    **_NUMERIC,
    "argmax": dpnp.argmax,
    "argmin": dpnp.argmin,
    "ceil": dpnp.ceil,
    "floor": dpnp.floor,
    "greater": dpnp.greater,
    "greater_equal": dpnp.greater_equal,
    "less": dpnp.less,
    "less_equal": dpnp.less_equal,
    "max": dpnp.max,
    "maximum": dpnp.maximum,
    "min": dpnp.min,
    "minimum": dpnp.minimum,
    "remainder": dpnp.remainder,
    "round": dpnp.round,
    "sign": dpnp.sign,
    "trunc": dpnp.trunc,
}
_FLOATING: dict[str, Function] = {
    **_REAL,
    "acos": dpnp.acos,
    "acosh": dpnp.acosh,
    "asin": dpnp.asin,
    "asinh": dpnp.asinh,
    "atan": dpnp.atan,
    "atan2": dpnp.atan2,
    "atanh": dpnp.atanh,
    "copysign": dpnp.copysign,
    "cos": dpnp.cos,
    "cosh": dpnp.cosh,
    "divide": dpnp.divide,
    "exp": dpnp.exp,
    "expm1": dpnp.expm1,
    "hypot": dpnp.hypot,
    "log": dpnp.log,
    "log10": dpnp.log10,
    "log1p": dpnp.log1p,
    "log2": dpnp.log2,
    "logaddexp": dpnp.logaddexp,
    "mean": dpnp.mean,
    "nextafter": dpnp.nextafter,
    "reciprocal": dpnp.reciprocal,
    "signbit": dpnp.signbit,
    "sin": dpnp.sin,
    "sinh": dpnp.sinh,
    "sqrt": dpnp.sqrt,
    "std": dpnp.std,
    "tan": dpnp.tan,
    "tanh": dpnp.tanh,
    "var": dpnp.var,
}
_COMPLEX: dict[str, Function] = {
    **_NUMERIC,
    "conj": dpnp.conj,
    "divide": dpnp.divide,
    "imag": dpnp.imag,
    "mean": dpnp.mean,
    "real": dpnp.real,
    "reciprocal": dpnp.reciprocal,
}
_BITS: dict[str, Function] = {
    "bitwise_and": dpnp.bitwise_and,
    "bitwise_invert": dpnp.bitwise_invert,
    "bitwise_or": dpnp.bitwise_or,
    "bitwise_xor": dpnp.bitwise_xor,
}
_INTEGRAL: dict[str, Function] = {
    **_REAL,
    **_BITS,
    "bitwise_left_shift": dpnp.bitwise_left_shift,
    "bitwise_right_shift": dpnp.bitwise_right_shift,
    "floor_divide": dpnp.floor_divide,
}
_BOOLEAN: dict[str, Function] = {
    **_EVERY,
    **_BITS,
    "logical_and": dpnp.logical_and,
    "logical_not": dpnp.logical_not,
    "logical_or": dpnp.logical_or,
    "logical_xor": dpnp.logical_xor,
}
_DIRECT = {"b": _BOOLEAN, "i": _INTEGRAL, "u": _INTEGRAL, "f": _FLOATING, "c": _COMPLEX}


def direct(name: str, dtype: np.dtype[Any]) -> Function | None:
    """Return dpnp's own function for arrays of a dtype, None where it does not do right."""
    return _DIRECT[dtype.kind].get(name)
