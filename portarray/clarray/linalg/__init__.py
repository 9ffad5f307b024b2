"""Linear algebra: products and norms on the device, decompositions by LAPACK on the host."""

from portarray._result_types import (
    EighResult,
    EigResult,
    QRResult,
    SlogdetResult,
    SVDResult,
)
from portarray.clarray.linalg.decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from portarray.clarray.linalg.norms import matrix_norm, vector_norm
from portarray.clarray.linalg.products import cross, diagonal, matrix_power, outer, trace
from portarray.clarray.linalg.solving import det, inv, matrix_rank, pinv, slogdet, solve
from portarray.clarray.linear_algebra import matmul, matrix_transpose, tensordot, vecdot

__all__ = ["EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky"]
__all__ += ["cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul"]
__all__ += ["matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr"]
__all__ += ["slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm"]
