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
from portarray.backends.mlx.namespace.linear_algebra import (
    matmul,
    matrix_transpose,
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

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "bfloat16",
    "bool",
    "complex64",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "e",
    "fft",
    "float16",
    "float32",
    "float64",
    "inf",
    "int16",
    "int32",
    "int64",
    "int8",
    "linalg",
    "matmul",
    "matrix_transpose",
    "max",
    "mean",
    "min",
    "nan",
    "newaxis",
    "nonzero",
    "pi",
    "prod",
    "searchsorted",
    "sort",
    "std",
    "sum",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "var",
    "where",
]

newaxis = None
