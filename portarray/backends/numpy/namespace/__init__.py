"""The standard on NumPy arrays: NumPy's own functions, corrected where they differ."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import e, inf, nan, pi
from typing import Any

import numpy as np

from portarray.backends.numpy.namespace import fft, linalg
from portarray.backends.numpy.namespace.arithmetic import (
    abs,
    add,
    clip,
    copysign,
    divide,
    floor_divide,
    hypot,
    logaddexp,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    positive,
    pow,
    reciprocal,
    remainder,
    sign,
    signbit,
    sqrt,
    square,
    subtract,
)
from portarray.backends.numpy.namespace.bitwise import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from portarray.backends.numpy.namespace.comparison import (
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    not_equal,
)
from portarray.backends.numpy.namespace.complex import conj, imag, real
from portarray.backends.numpy.namespace.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    logspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from portarray.backends.numpy.namespace.data_type import (
    astype,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    item,
    result_type,
)
from portarray.backends.numpy.namespace.exponential import exp, expm1, log, log1p, log2, log10
from portarray.backends.numpy.namespace.indexing import getitem, setitem, take, take_along_axis
from portarray.backends.numpy.namespace.linear_algebra import (
    matmul,
    matrix_transpose,
    tensordot,
    vecdot,
)
from portarray.backends.numpy.namespace.logical import (
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from portarray.backends.numpy.namespace.manipulation import (
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from portarray.backends.numpy.namespace.rounding import ceil, floor, round, trunc
from portarray.backends.numpy.namespace.searching import (
    argmax,
    argmin,
    count_nonzero,
    nonzero,
    searchsorted,
    where,
)
from portarray.backends.numpy.namespace.sets import (
    isin,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from portarray.backends.numpy.namespace.sorting import argsort, sort
from portarray.backends.numpy.namespace.statistical import (
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from portarray.backends.numpy.namespace.trigonometric import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    sin,
    sinh,
    tan,
    tanh,
)
from portarray.backends.numpy.namespace.utility import all, any, diff

bool = np.dtype(np.bool_)
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = np.dtype(np.int32)
int64 = np.dtype(np.int64)
uint8 = np.dtype(np.uint8)
uint16 = np.dtype(np.uint16)
uint32 = np.dtype(np.uint32)
uint64 = np.dtype(np.uint64)
float16 = np.dtype(np.float16)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)
complex64 = np.dtype(np.complex64)
complex128 = np.dtype(np.complex128)

newaxis = None

_INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
    "pow": operator.ipow,
    "bitwise_and": operator.iand,
    "bitwise_or": operator.ior,
    "bitwise_xor": operator.ixor,
    "bitwise_left_shift": operator.ilshift,
    "bitwise_right_shift": operator.irshift,
}


def inplace(name: str, dtype: np.dtype[Any]) -> Callable[[Any, Any], Any] | None:
    """Return NumPy's in-place operator where it follows the standard as it is."""
    return _INPLACE.get(name)


__all__ = [
    "e",
    "inf",
    "nan",
    "newaxis",
    "pi",
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
    "astype",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "item",
    "result_type",
    "abs",
    "add",
    "clip",
    "copysign",
    "divide",
    "floor_divide",
    "hypot",
    "logaddexp",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "positive",
    "pow",
    "reciprocal",
    "remainder",
    "sign",
    "signbit",
    "sqrt",
    "square",
    "subtract",
    "equal",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "not_equal",
    "exp",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "sin",
    "sinh",
    "tan",
    "tanh",
    "ceil",
    "floor",
    "round",
    "trunc",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "conj",
    "imag",
    "real",
    "getitem",
    "setitem",
    "take",
    "take_along_axis",
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "where",
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "argsort",
    "sort",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
    "all",
    "any",
    "diff",
    "linalg",
    "fft",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "inplace",
]
