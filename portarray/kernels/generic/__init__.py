"""The kernels, written once in the standard's names.

Each takes a namespace of the standard first, then native arrays of it and every option, and runs
wherever such a namespace is: ``generic.softmax(array_api_strict, x)``. Nothing here depends
on portarray's arrays. Arguments have been checked by :mod:`portarray.kernels.checks`.

16-bit floating-point numbers are computed in float32: long sums would lose their few digits, and
exponentials would overflow.
"""

from portarray.kernels.generic.attention import attention
from portarray.kernels.generic.layers import (
    cross_entropy,
    gelu,
    layer_norm,
    log_softmax,
    relu,
    rms_norm,
    silu,
    softmax,
)
from portarray.kernels.generic.positions import rope, rope_tables
from portarray.kernels.generic.products import embedding, gemm, linear, matmul
from portarray.kernels.generic.triangular import solve_triangular

__all__ = [
    "attention",
    "cross_entropy",
    "embedding",
    "gelu",
    "gemm",
    "layer_norm",
    "linear",
    "log_softmax",
    "matmul",
    "relu",
    "rms_norm",
    "rope",
    "rope_tables",
    "silu",
    "softmax",
    "solve_triangular",
]
