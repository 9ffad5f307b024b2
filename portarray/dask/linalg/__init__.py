"""Linear algebra over tiles on their devices: of Dask arrays, and of arrays of one process.

Each operation is described once, as tasks that read and write tiles, and runs in a region of this
process (:mod:`portarray.tasks`) or as a graph of Dask.
"""

from portarray.dask.linalg.explaining import Plan, explain
from portarray.dask.linalg.functions import cholesky, lu, matmul, qr, solve, solve_triangular

__all__ = ["Plan", "cholesky", "explain", "lu", "matmul", "qr", "solve", "solve_triangular"]
