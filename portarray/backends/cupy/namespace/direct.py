"""CuPy's own functions and the backend's kernels, where they do right on every value of a dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.cupy.namespace import kernels

__all__ = ["direct"]

Function = Callable[..., Any]

_DIRECT: dict[str, dict[str, Function]] = {
    # Kinds of dtypes: the function that serves them.
    "abs": {"iufc": cupy.absolute},
    "add": {"iufc": cupy.add},
    "copysign": {"f": cupy.copysign},
    "divide": {"fc": cupy.true_divide},
    "floor_divide": {"iu": cupy.floor_divide, "f": kernels.floor_divide},
    "multiply": {"iufc": cupy.multiply},
    "negative": {"iufc": cupy.negative},
    "positive": {"biufc": ndarray.copy},
    "reciprocal": {"fc": cupy.reciprocal},
    "remainder": {"iu": cupy.remainder, "f": kernels.remainder},
    "sign": {"iu": cupy.sign, "f": kernels.sign, "c": kernels.complex_sign},
    "signbit": {"f": cupy.signbit},
    "subtract": {"iufc": cupy.subtract},
    "equal": {"biufc": cupy.equal},
    "greater": {"iuf": cupy.greater},
    "greater_equal": {"iuf": cupy.greater_equal},
    "isfinite": {"iufc": cupy.isfinite},
    "isinf": {"iufc": cupy.isinf},
    "isnan": {"iufc": cupy.isnan},
    "less": {"iuf": cupy.less},
    "less_equal": {"iuf": cupy.less_equal},
    "maximum": {"iuf": cupy.maximum},
    "minimum": {"iuf": cupy.minimum},
    "not_equal": {"biufc": cupy.not_equal},
    "exp": {"fc": cupy.exp},
    "expm1": {"f": cupy.expm1, "c": kernels.expm1},
    "log": {"f": cupy.log, "c": kernels.log},
    "log10": {"f": cupy.log10, "c": kernels.log10},
    "log1p": {"f": cupy.log1p, "c": kernels.log1p},
    "log2": {"f": cupy.log2, "c": kernels.log2},
    "logaddexp": {"f": cupy.logaddexp},
    "pow": {"uf": cupy.power, "c": kernels.complex_power},
    "sqrt": {"fc": cupy.sqrt},
    "square": {"iufc": cupy.square},
    "acos": {"fc": cupy.arccos},
    "acosh": {"f": cupy.arccosh, "c": kernels.acosh},
    "asin": {"fc": cupy.arcsin},
    "asinh": {"fc": cupy.arcsinh},
    "atan": {"fc": cupy.arctan},
    "atan2": {"f": cupy.arctan2},
    "atanh": {"fc": cupy.arctanh},
    "cos": {"fc": cupy.cos},
    "cosh": {"fc": cupy.cosh},
    "hypot": {"f": cupy.hypot},
    "sin": {"fc": cupy.sin},
    "sinh": {"fc": cupy.sinh},
    "tan": {"f": cupy.tan, "c": kernels.tan},
    "tanh": {"f": cupy.tanh, "c": kernels.tanh},
    "ceil": {"iu": ndarray.copy, "f": cupy.ceil},
    "floor": {"iu": ndarray.copy, "f": cupy.floor},
    "round": {"iu": ndarray.copy, "fc": cupy.rint},
    "trunc": {"iu": ndarray.copy, "f": cupy.trunc},
    "bitwise_and": {"biu": cupy.bitwise_and},
    "bitwise_invert": {"biu": cupy.invert},
    "bitwise_left_shift": {"iu": kernels.left_shift},
    "bitwise_or": {"biu": cupy.bitwise_or},
    "bitwise_right_shift": {"iu": kernels.right_shift},
    "bitwise_xor": {"biu": cupy.bitwise_xor},
    "logical_and": {"b": cupy.logical_and},
    "logical_not": {"b": cupy.logical_not},
    "logical_or": {"b": cupy.logical_or},
    "logical_xor": {"b": cupy.logical_xor},
    "conj": {"iufc": cupy.conjugate},
    "all": {"biufc": ndarray.all},
    "any": {"biufc": ndarray.any},
    "argmax": {"iuf": ndarray.argmax},
    "argmin": {"iuf": ndarray.argmin},
    "max": {"iuf": ndarray.max},
    "mean": {"fc": ndarray.mean},
    "min": {"iuf": ndarray.min},
    "prod": {"iufc": ndarray.prod},
    "std": {"f": ndarray.std},
    "sum": {"iufc": ndarray.sum},
    "var": {"f": ndarray.var},
}


def direct(name: str, dtype: np.dtype[Any]) -> Function | None:
    """Return the function of CuPy that serves a name for arrays of a dtype and nothing else."""
    if name == "nextafter":
        found: Function = kernels.nextafter if dtype.char == "f" else cupy.nextafter
        return found
    for kinds, function in _DIRECT.get(name, {}).items():
        if dtype.kind in kinds:
            return function
    return None
