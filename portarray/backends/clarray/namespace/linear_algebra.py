"""Products of matrices and vectors. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.linear_algebra import matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
]
