"""The array API standard on MLX's arrays.

What is missing here is composed from the rest in ``backends/composed``, or computed on the host.
"""

from __future__ import annotations

from math import e, inf, nan, pi

from mlx.core import (
    bfloat16,
    complex64,
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
from mlx.core import bool_ as bool

from portarray.backends.mlx.namespace import fft, linalg
from portarray.backends.mlx.namespace.assignment import (
    inplace,
)
from portarray.backends.mlx.namespace.creation import (
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
from portarray.backends.mlx.namespace.data_type import (
    astype,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from portarray.backends.mlx.namespace.indexing import (
    getitem,
    item,
    setitem,
    take,
    take_along_axis,
)
from portarray.backends.mlx.namespace.linear_algebra import (
    matmul,
    matrix_transpose,
)
from portarray.backends.mlx.namespace.manipulation import (
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
from portarray.backends.mlx.namespace.searching import (
    argmax,
    argmin,
    count_nonzero,
    nonzero,
    searchsorted,
    where,
)
from portarray.backends.mlx.namespace.sorting import (
    argsort,
    sort,
)
from portarray.backends.mlx.namespace.statistical import (
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
from portarray.backends.mlx.namespace.utility import (
    all,
    any,
)

__all__ = [
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "astype",
    "bfloat16",
    "bool",
    "broadcast_arrays",
    "broadcast_to",
    "can_cast",
    "complex64",
    "concat",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "e",
    "empty",
    "empty_like",
    "expand_dims",
    "eye",
    "fft",
    "finfo",
    "flip",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "full",
    "full_like",
    "getitem",
    "iinfo",
    "inf",
    "inplace",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "item",
    "linalg",
    "linspace",
    "matmul",
    "matrix_transpose",
    "max",
    "mean",
    "meshgrid",
    "min",
    "moveaxis",
    "nan",
    "newaxis",
    "nonzero",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "prod",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "searchsorted",
    "setitem",
    "sort",
    "squeeze",
    "stack",
    "std",
    "sum",
    "take",
    "take_along_axis",
    "tile",
    "tril",
    "triu",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unstack",
    "var",
    "where",
    "zeros",
    "zeros_like",
]

newaxis = None
