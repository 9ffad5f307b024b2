"""The linear algebra extension: clarray's own functions."""

from __future__ import annotations

from portarray.clarray import Array
from portarray.clarray.arguments import default_dtype
from portarray.clarray.data_type import astype
from portarray.clarray.linalg import (
    cholesky,
    cross,
    det,
    diagonal,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    matmul,
    matrix_norm,
    matrix_rank,
    matrix_transpose,
    outer,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
    tensordot,
    trace,
    vecdot,
    vector_norm,
)
from portarray.clarray.linalg import matrix_power as _matrix_power

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def matrix_power(x: Array, n: int, /) -> Array:
    """Return powers of square matrices; negative ones of integers are floating-point."""
    if n < 0 and x.dtype.kind in "iu":
        x = astype(x, default_dtype(x.device, "real floating"))
    return _matrix_power(x, n)
