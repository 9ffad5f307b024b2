"""The standard on clarray's arrays: clarray's own functions.

What is missing here is composed from the rest in ``backends/composed``.
"""

from __future__ import annotations

import numpy as np

from portarray.backends.clarray.namespace import fft, linalg
from portarray.backends.clarray.namespace.arithmetic import (
    abs,
    add,
    copysign,
    divide,
    floor_divide,
    multiply,
    negative,
    nextafter,
    positive,
    reciprocal,
    remainder,
    sign,
    signbit,
    subtract,
)
from portarray.backends.clarray.namespace.assignment import inplace
from portarray.backends.clarray.namespace.bitwise import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from portarray.backends.clarray.namespace.comparison import (
    clip,
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    maximum,
    minimum,
    not_equal,
)
from portarray.backends.clarray.namespace.complex import conj, imag, real
from portarray.backends.clarray.namespace.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from portarray.backends.clarray.namespace.data_type import (
    astype,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from portarray.backends.clarray.namespace.direct import direct
from portarray.backends.clarray.namespace.exponential import (
    exp,
    expm1,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    pow,
    sqrt,
    square,
)
from portarray.backends.clarray.namespace.indexing import (
    getitem,
    item,
    setitem,
    take,
    take_along_axis,
)
from portarray.backends.clarray.namespace.linear_algebra import (
    matmul,
    matrix_transpose,
    tensordot,
    vecdot,
)
from portarray.backends.clarray.namespace.logical import (
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from portarray.backends.clarray.namespace.manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
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
from portarray.backends.clarray.namespace.rounding import ceil, floor, round, trunc
from portarray.backends.clarray.namespace.searching import (
    argmax,
    argmin,
    count_nonzero,
    nonzero,
    searchsorted,
    where,
)
from portarray.backends.clarray.namespace.sets import (
    isin,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from portarray.backends.clarray.namespace.sorting import argsort, sort
from portarray.backends.clarray.namespace.statistical import (
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
from portarray.backends.clarray.namespace.trigonometric import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    hypot,
    sin,
    sinh,
    tan,
    tanh,
)
from portarray.backends.clarray.namespace.utility import all, any, diff
from portarray.clarray.constants import e, inf, nan, newaxis, pi
from portarray.clarray.dtypes import bfloat16

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

__all__ = [
    "bfloat16",
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
    "e",
    "inf",
    "nan",
    "newaxis",
    "pi",
    "linalg",
    "fft",
    "direct",
    "inplace",
    # creation
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
    # data_type
    "astype",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
    # arithmetic
    "abs",
    "add",
    "copysign",
    "divide",
    "floor_divide",
    "multiply",
    "negative",
    "nextafter",
    "positive",
    "reciprocal",
    "remainder",
    "sign",
    "signbit",
    "subtract",
    # comparison
    "clip",
    "equal",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "maximum",
    "minimum",
    "not_equal",
    # exponential
    "exp",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "pow",
    "sqrt",
    "square",
    # trigonometric
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "hypot",
    "sin",
    "sinh",
    "tan",
    "tanh",
    # rounding
    "ceil",
    "floor",
    "round",
    "trunc",
    # bitwise
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    # logical
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    # complex
    "conj",
    "imag",
    "real",
    # indexing
    "getitem",
    "item",
    "setitem",
    "take",
    "take_along_axis",
    # linear_algebra
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
    # manipulation
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
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
    # searching
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "where",
    # sets
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    # sorting
    "argsort",
    "sort",
    # statistical
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
    # utility
    "all",
    "any",
    "diff",
]
