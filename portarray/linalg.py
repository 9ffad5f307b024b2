"""Linear algebra: the standard's ``linalg`` extension, complete.

Functions take stacks of matrices: arrays of shape ``(..., M, N)``, where all axes but the last two
are of the stack.
"""

from typing import TYPE_CHECKING

from portarray import _name_hints
from portarray._api.linalg.decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from portarray._api.linalg.norms import matrix_norm, vector_norm
from portarray._api.linalg.products import cross, diagonal, outer, trace
from portarray._api.linalg.solutions import (
    det,
    inv,
    matrix_power,
    matrix_rank,
    pinv,
    slogdet,
    solve,
)
from portarray._api.linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from portarray.errors import LinAlgError

__all__ = [
    "LinAlgError",
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

if not TYPE_CHECKING:  # a type checker would take every name to be there
    __getattr__ = _name_hints.module_getattr(__name__)
