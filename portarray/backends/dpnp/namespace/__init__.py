"""The standard on dpnp's arrays: dpnp's own functions, corrected where they differ."""

from __future__ import annotations

from math import e, inf, nan, pi

import numpy as np

from portarray.backends.dpnp.namespace import fft, linalg
from portarray.backends.dpnp.namespace.arithmetic import (
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
from portarray.backends.dpnp.namespace.assignment import (
    inplace,
)
from portarray.backends.dpnp.namespace.bitwise import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from portarray.backends.dpnp.namespace.comparison import (
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
from portarray.backends.dpnp.namespace.complex import (
    conj,
    imag,
    real,
)
from portarray.backends.dpnp.namespace.creation import (
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
from portarray.backends.dpnp.namespace.data_type import (
    astype,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from portarray.backends.dpnp.namespace.direct import direct
from portarray.backends.dpnp.namespace.exponential import (
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
from portarray.backends.dpnp.namespace.indexing import (
    getitem,
    item,
    setitem,
    take,
    take_along_axis,
)
from portarray.backends.dpnp.namespace.linear_algebra import (
    matmul,
    matrix_transpose,
    tensordot,
    vecdot,
)
from portarray.backends.dpnp.namespace.logical import (
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from portarray.backends.dpnp.namespace.manipulation import (
    broadcast_arrays,
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
from portarray.backends.dpnp.namespace.rounding import (
    ceil,
    floor,
    round,
    trunc,
)
from portarray.backends.dpnp.namespace.searching import (
    argmax,
    argmin,
    count_nonzero,
    nonzero,
    searchsorted,
    where,
)
from portarray.backends.dpnp.namespace.sets import (
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from portarray.backends.dpnp.namespace.sorting import (
    argsort,
    sort,
)
from portarray.backends.dpnp.namespace.statistical import (
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
from portarray.backends.dpnp.namespace.trigonometric import (
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
from portarray.backends.dpnp.namespace.utility import (
    all,
    any,
    diff,
)

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

__all__ = [
    "e",
    "inf",
    "nan",
    "newaxis",
    "pi",
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
    # assignment
    "inplace",
    "direct",
    # extensions
    "linalg",
    "fft",
    # dtypes
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
]
