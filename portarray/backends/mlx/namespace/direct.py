"""MLX's own functions, for arrays of the dtypes on which they do right.

What they do wrong elsewhere, and why, stands with the function of the same name in this namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mlx.core as mx

from portarray.backends.mlx import limits
from portarray.backends.mlx.namespace import statistical, utility
from portarray.backends.mlx.namespace.promotion import COMPLEX, FLOATING, SIGNED, UNSIGNED

__all__ = ["beside", "direct"]

Function = Callable[..., Any]


def _filled(own: Function, general: Function) -> Function:
    """Return MLX's reduction of everything, with another one for arrays without elements."""
    return lambda x: own(x) if x.size else general(x)


_EQUALITY: dict[str, Function] = {"equal": mx.equal, "not_equal": mx.not_equal}
_NUMERIC: dict[str, Function] = {
    **_EQUALITY,
    "add": mx.add,
    "conj": mx.conj,
    "isfinite": mx.isfinite,
    "isinf": mx.isinf,
    "isnan": mx.isnan,
    "multiply": mx.multiply,
    "negative": mx.negative,
    "positive": mx.positive,
    "real": mx.real,
    "round": mx.round,
    "square": mx.square,
    "subtract": mx.subtract,
}
_REAL: dict[str, Function] = {
    **_NUMERIC,
    "abs": mx.abs,
    "ceil": mx.ceil,
    "floor": mx.floor,
    "greater": mx.greater,
    "greater_equal": mx.greater_equal,
    "less": mx.less,
    "less_equal": mx.less_equal,
    "max": _filled(mx.max, statistical.max),
    "maximum": mx.maximum,
    "min": _filled(mx.min, statistical.min),
    "minimum": mx.minimum,
    "trunc": mx.trunc,
}
_INEXACT: dict[str, Function] = {
    "acos": mx.arccos,
    "acosh": mx.arccosh,
    "asin": mx.arcsin,
    "asinh": mx.arcsinh,
    "atan": mx.arctan,
    "atanh": mx.arctanh,
    "cosh": mx.cosh,
    "divide": mx.divide,
    "log": mx.log,
    "log10": mx.log10,
    "log2": mx.log2,
    "reciprocal": mx.reciprocal,
    "sinh": mx.sinh,
    "sqrt": mx.sqrt,
    "tan": mx.tan,
}
_BITWISE: dict[str, Function] = {
    "bitwise_and": mx.bitwise_and,
    "bitwise_invert": mx.bitwise_invert,
    "bitwise_or": mx.bitwise_or,
    "bitwise_xor": mx.bitwise_xor,
}
_FLOATING: dict[str, Function] = {
    **_REAL,
    **_INEXACT,
    "atan2": mx.arctan2,
    "expm1": mx.expm1,
    "log1p": mx.log1p,
    "pow": mx.power,
    "tanh": mx.tanh,
}
_SUMS: dict[str, Function] = {
    "prod": _filled(mx.prod, statistical.prod),
    "sum": _filled(mx.sum, statistical.sum),
}
_MEAN: dict[str, Function] = {"mean": _filled(mx.mean, statistical.mean)}
_SINGLE: dict[str, Function] = {**_FLOATING, **_SUMS, **_MEAN, "logaddexp": mx.logaddexp}
_DOUBLE: dict[str, Function] = {**_FLOATING, **_SUMS, **_MEAN}
_COMPLEX: dict[str, Function] = {
    **_NUMERIC,
    **_SUMS,
    "divide": mx.divide,
    "imag": mx.imag,
    "reciprocal": mx.reciprocal,
}
if not mx.is_available(mx.gpu):  # see complex.is_plain
    _COMPLEX |= {**_INEXACT, "abs": mx.abs, "cos": mx.cos, "exp": mx.exp, "sin": mx.sin}
_UNSIGNED: dict[str, Function] = {
    **_REAL,
    **_BITWISE,
    "pow": mx.power,
    "sign": mx.sign,
}
_SIGNED: dict[str, Function] = {**_REAL, **_BITWISE, "sign": mx.sign}
_BOOL: dict[str, Function] = {
    **_BITWISE,
    **_EQUALITY,
    "all": _filled(mx.all, utility.all),
    "any": _filled(mx.any, utility.any),
    "logical_and": mx.logical_and,
    "logical_not": mx.logical_not,
    "logical_or": mx.logical_or,
    "logical_xor": mx.logical_xor,
    "positive": mx.positive,
}
_DIRECT: Mapping[mx.Dtype, Mapping[str, Function]] = {
    **dict.fromkeys(FLOATING, _FLOATING),
    mx.float32: _SINGLE,
    mx.float64: _DOUBLE,
    **dict.fromkeys(COMPLEX, _COMPLEX),
    **dict.fromkeys(UNSIGNED, _UNSIGNED),
    **dict.fromkeys(SIGNED, _SIGNED),
    mx.bool_: _BOOL,
}

_OF_TWO = frozenset(
    (
        *("add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal"),
        *("greater", "greater_equal", "less", "less_equal", "logaddexp", "logical_and"),
        *("logical_or", "logical_xor", "maximum", "minimum", "multiply", "not_equal", "pow"),
        "subtract",
    )
)
# Their results are no larger than what is there: numbers, and views.
_SMALL = frozenset(("all", "any", "imag", "max", "mean", "min", "positive", "prod", "real", "sum"))

# Integers beyond int64 raise here (https://github.com/ml-explore/mlx/pull/4365), and the
# namespace's functions serve them.
_EQUALITY_BESIDE: dict[str, Function] = {"equal": mx.equal, "not_equal": mx.not_equal}
_COMPLEX_BESIDE: dict[str, Function] = {
    **_EQUALITY_BESIDE,
    "add": mx.add,
    "multiply": mx.multiply,
    "subtract": mx.subtract,
}
_REAL_BESIDE: dict[str, Function] = {
    **_COMPLEX_BESIDE,
    "greater": mx.greater,
    "greater_equal": mx.greater_equal,
    "less": mx.less,
    "less_equal": mx.less_equal,
    "maximum": mx.maximum,
    "minimum": mx.minimum,
}
_FLOATING_BESIDE: dict[str, Function] = {**_REAL_BESIDE, "divide": mx.divide}
_COMPLEX_DIVIDED: dict[str, Function] = {**_COMPLEX_BESIDE, "divide": mx.divide}
_BESIDE: Mapping[mx.Dtype, Mapping[str, Function]] = {
    **dict.fromkeys((*SIGNED, *UNSIGNED), _REAL_BESIDE),
    **dict.fromkeys(FLOATING, _FLOATING_BESIDE),
    **dict.fromkeys(COMPLEX, _COMPLEX_DIVIDED),
}


def _getitem(x: mx.array, key: Any) -> mx.array:
    """Return ``x[key]`` for the plainest keys, which MLX itself does not look at.

    An integer out of bounds reads foreign memory, and a step of 0 ends the process.
    """
    shape = x.shape
    if key.__class__ is int:
        if shape and -shape[0] <= key < shape[0]:
            return x[key]
    elif key.__class__ is slice:
        if shape and key.step is None:
            return x[key]
    elif key.__class__ is tuple and len(key) <= len(shape):
        for index, size in zip(key, shape, strict=False):
            kind = type(index)
            if not (kind is slice and index.step is None) and not (
                kind is int and -size <= index < size
            ):
                break
        else:
            return x[key]
    raise IndexError(f"{key!r} is out of bounds, or no key of integers and slices without steps")


def direct(name: str, dtype: mx.Dtype) -> Function | None:
    """Return MLX's own function for arrays of a dtype, None where it does not do right."""
    if name == "getitem":
        return _getitem
    function = _DIRECT[dtype].get(name)
    if function is None or name in _SMALL:
        return function
    return (limits.bounded_two if name in _OF_TWO else limits.bounded_one)(function)


def beside(name: str, dtype: mx.Dtype) -> Function | None:
    """Return MLX's own function for an array of a dtype and a Python scalar, or None."""
    function = _BESIDE.get(dtype, {}).get(name)
    return None if function is None else limits.bounded_two(function)
