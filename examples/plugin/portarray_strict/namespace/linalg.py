"""Linear algebra: the library's own.

``matrix_power`` refuses integers and ``matrix_rank`` matrices without elements; left out here, they
are computed on the host.
"""

from __future__ import annotations

from array_api_strict import linalg as library

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip

cholesky = library.cholesky
cross = library.cross
det = library.det
diagonal = library.diagonal
eig = library.eig
eigh = library.eigh
eigvals = library.eigvals
eigvalsh = library.eigvalsh
inv = library.inv
matmul = library.matmul
matrix_norm = library.matrix_norm
matrix_transpose = library.matrix_transpose
outer = library.outer
pinv = library.pinv
qr = library.qr
slogdet = library.slogdet
solve = library.solve
svd = library.svd
svdvals = library.svdvals
tensordot = library.tensordot
trace = library.trace
vecdot = library.vecdot
vector_norm = library.vector_norm
