"""Linear algebra over tiles on their devices: of Dask arrays, and of arrays of one process.

Each operation is described once, as tasks that read and write tiles, and runs in a region of this
process (:mod:`portarray.tasks`) or as a graph of Dask.

Examples
--------
>>> import numpy as np
>>> import portarray.dask as pd
>>> a = pd.from_array(np.diag([2.0, 4.0, 5.0, 8.0]), chunks=2, devices="numpy")
>>> b = pd.ones(4, chunks=2, devices="numpy")
>>> pd.collect(pd.linalg.solve(a, b)).tolist()
[0.5, 0.25, 0.2, 0.125]
"""

from portarray.dask.linalg.explaining import Plan, explain
from portarray.dask.linalg.functions import cholesky, lu, matmul, qr, solve, solve_triangular

__all__ = ["Plan", "cholesky", "explain", "lu", "matmul", "qr", "solve", "solve_triangular"]
