"""What JAX itself does right for arrays of one dtype, and what is compiled here in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from portarray.backends.jax.namespace import arithmetic, exponential, trigonometric
from portarray.backends.jax.namespace.promotion import kind_of

__all__ = ["beside", "direct"]

Function = Callable[..., Any]

_EVERY: dict[str, Function] = {
    "bitwise_and": jnp.bitwise_and,
    "bitwise_invert": jnp.bitwise_invert,
    "bitwise_left_shift": jnp.bitwise_left_shift,
    "bitwise_or": jnp.bitwise_or,
    "bitwise_right_shift": jnp.bitwise_right_shift,
    "bitwise_xor": jnp.bitwise_xor,
    "equal": jnp.equal,
    "isfinite": jnp.isfinite,
    "isinf": jnp.isinf,
    "isnan": jnp.isnan,
    "logical_and": jnp.logical_and,
    "logical_not": jnp.logical_not,
    "logical_or": jnp.logical_or,
    "logical_xor": jnp.logical_xor,
    "max": jnp.max,
    "min": jnp.min,
    "not_equal": jnp.not_equal,
}

_NUMBERS: dict[str, Function] = {
    **_EVERY,
    "add": jnp.add,
    "multiply": jnp.multiply,
    "negative": jnp.negative,
    "square": jnp.square,
    "subtract": jnp.subtract,
}

_REAL: dict[str, Function] = {
    **_NUMBERS,
    "abs": jnp.abs,
    "all": jnp.all,
    "any": jnp.any,
    "greater": jnp.greater,
    "greater_equal": jnp.greater_equal,
    "less": jnp.less,
    "less_equal": jnp.less_equal,
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
}

_INTEGERS: dict[str, Function] = {
    **_REAL,
    "floor_divide": arithmetic.integer_quotient,
    "remainder": arithmetic.integer_rest,
    "sign": jnp.sign,
}

_FLOATING: dict[str, Function] = {
    **_NUMBERS,
    "divide": arithmetic.quotient,
    "log10": jnp.log10,
    "log2": jnp.log2,
    "mean": jnp.mean,
    "prod": jnp.prod,
    "reciprocal": jnp.reciprocal,
    "std": jnp.std,
    "sum": jnp.sum,
    "var": jnp.var,
}

_REAL_FLOATING: dict[str, Function] = {
    **_FLOATING,
    **_REAL,
    "acos": jnp.acos,
    "acosh": jnp.acosh,
    "asin": jnp.asin,
    "asinh": jnp.asinh,
    "atan": jnp.atan,
    "atan2": jnp.atan2,
    "atanh": jnp.atanh,
    "ceil": jnp.ceil,
    "copysign": jnp.copysign,
    "cos": jnp.cos,
    "cosh": trigonometric.real_cosh,
    "exp": jnp.exp,
    "expm1": jnp.expm1,
    "floor": jnp.floor,
    "floor_divide": arithmetic.floating_quotient,
    "hypot": jnp.hypot,
    "log": jnp.log,
    "log1p": jnp.log1p,
    "logaddexp": jnp.logaddexp,
    "nextafter": jnp.nextafter,
    "pow": jnp.power,
    "remainder": arithmetic.floating_rest,
    "round": jnp.round,
    "sign": arithmetic.floating_sign,
    "signbit": jnp.signbit,
    "sin": jnp.sin,
    "sinh": trigonometric.real_sinh,
    "sqrt": jnp.sqrt,
    "tan": jnp.tan,
    "tanh": jnp.tanh,
    "trunc": jnp.trunc,
}

_COMPLEX: dict[str, Function] = {
    **_FLOATING,
    "abs": arithmetic.modulus,
    "acos": trigonometric.complex_acos,
    "acosh": trigonometric.complex_acosh,
    "asin": trigonometric.complex_asin,
    "asinh": trigonometric.complex_asinh,
    "atan": trigonometric.complex_atan,
    "atanh": trigonometric.complex_atanh,
    "conj": jnp.conj,
    "cos": trigonometric.complex_cos,
    "cosh": trigonometric.complex_cosh,
    "exp": exponential.complex_exp,
    "expm1": exponential.complex_expm1,
    "imag": jnp.imag,
    "log": exponential.complex_log,
    "log1p": exponential.complex_log1p,
    "pow": exponential.complex_pow,
    "real": jnp.real,
    "round": jnp.round,
    "sign": arithmetic.floating_sign,
    "sin": trigonometric.complex_sin,
    "sinh": trigonometric.complex_sinh,
    "sqrt": exponential.complex_sqrt,
    "tan": trigonometric.complex_tan,
    "tanh": trigonometric.complex_tanh,
}

_BOOLEAN: dict[str, Function] = {**_EVERY, "all": jnp.all, "any": jnp.any}

_TABLES = {
    "b": _BOOLEAN,
    "i": _INTEGERS,
    "u": _INTEGERS,
    "f": _REAL_FLOATING,
    "c": _COMPLEX,
}


def _getitem(x: Any, key: Any) -> Any:
    """Return ``x[key]`` for the plainest keys; JAX moves integers out of bounds to the end."""
    if key.__class__ is int:
        shape = x.shape
        if shape and -shape[0] <= key < shape[0]:
            return x[key]
    elif key.__class__ is slice:
        return x[key]
    raise IndexError(f"{key!r} is out of bounds, or neither an integer nor a slice")


def direct(name: str, dtype: np.dtype[Any]) -> Function | None:
    """Return the function for arrays of a dtype, None where the namespace has it."""
    if name == "getitem":
        return _getitem
    return _TABLES[kind_of(dtype)].get(name)


_BESIDE_NUMBERS = frozenset(
    {
        *("add", "equal", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum"),
        *("multiply", "not_equal", "subtract"),
    }
)
_BESIDE_FLOATING = _BESIDE_NUMBERS | {"atan2", "copysign", "divide", "hypot", "logaddexp", "pow"}


def beside(name: str, dtype: np.dtype[Any]) -> Function | None:
    """Return the function for an array of a dtype and a Python scalar; as :func:`direct`."""
    kind = kind_of(dtype)
    own = direct(name, dtype)
    if own is None or name not in (_BESIDE_FLOATING if kind == "f" else _BESIDE_NUMBERS):
        return None
    if kind == "f":
        return _with_integers(own, float)
    return _with_integers(own, dtype.type) if kind in "iu" else None


def _with_integers(own: Function, convert: Callable[[int], Any]) -> Function:
    """Convert integers, which JAX would take for its default integer, maybe too narrow for them."""

    def function(x1: Any, x2: Any) -> Any:
        if x2.__class__ is int:
            return own(x1, convert(x2))
        return own(convert(x1) if x1.__class__ is int else x1, x2)

    return function
