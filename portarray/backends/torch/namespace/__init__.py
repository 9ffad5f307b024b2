"""The array API standard on PyTorch's tensors.

What is missing here (``isin``, ``unique_*``, ``broadcast_shapes``) is composed from the rest in
``backends/composed``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import e, inf, nan, pi
from typing import Any

import torch
from torch import (
    bfloat16,
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

from portarray.backends.torch.namespace import fft, linalg
from portarray.backends.torch.namespace.arithmetic import (
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
from portarray.backends.torch.namespace.bitwise import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from portarray.backends.torch.namespace.comparison import (
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
from portarray.backends.torch.namespace.complex import (
    conj,
    imag,
    real,
)
from portarray.backends.torch.namespace.creation import (
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
from portarray.backends.torch.namespace.data_type import (
    astype,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from portarray.backends.torch.namespace.exponential import (
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
from portarray.backends.torch.namespace.indexing import (
    getitem,
    item,
    setitem,
    take,
    take_along_axis,
)
from portarray.backends.torch.namespace.linear_algebra import (
    matmul,
    matrix_transpose,
    tensordot,
    vecdot,
)
from portarray.backends.torch.namespace.logical import (
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from portarray.backends.torch.namespace.manipulation import (
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
from portarray.backends.torch.namespace.rounding import (
    ceil,
    floor,
    round,
    trunc,
)
from portarray.backends.torch.namespace.searching import (
    argmax,
    argmin,
    count_nonzero,
    nonzero,
    searchsorted,
    where,
)
from portarray.backends.torch.namespace.sorting import (
    argsort,
    sort,
)
from portarray.backends.torch.namespace.statistical import (
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
from portarray.backends.torch.namespace.trigonometric import (
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
from portarray.backends.torch.namespace.unsigned import UNSIGNED
from portarray.backends.torch.namespace.utility import (
    all,
    any,
    diff,
)

__all__ = [
    "bfloat16",
    "bool",
    "complex64",
    "complex128",
    "e",
    "fft",
    "float16",
    "float32",
    "float64",
    "inf",
    "inplace",
    "int8",
    "int16",
    "int32",
    "int64",
    "linalg",
    "nan",
    "newaxis",
    "pi",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
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

newaxis = None

_INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "bitwise_and": operator.iand,
    "bitwise_left_shift": operator.ilshift,
    "bitwise_or": operator.ior,
    "bitwise_right_shift": operator.irshift,
    "bitwise_xor": operator.ixor,
    "multiply": operator.imul,
    "subtract": operator.isub,
}


def inplace(name: str, dtype: torch.dtype) -> Callable[[Any, Any], Any] | None:
    """Return the in-place operator of a function, where PyTorch's own does right on a dtype.

    Floor division, remainder, power and complex sums differ from the standard's, and quotients of
    integers do not fit into them.
    """
    if dtype in UNSIGNED or (dtype.is_complex and name in ("add", "subtract")):
        return None
    if name == "divide" and (dtype.is_floating_point or dtype.is_complex):
        return operator.itruediv
    return _INPLACE.get(name)
