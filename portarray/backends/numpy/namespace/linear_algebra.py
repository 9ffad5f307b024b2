"""Products of NumPy arrays."""

from __future__ import annotations

import numpy as np
from array_api_compat.numpy import tensordot

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]

matmul = np.matmul
matrix_transpose = np.matrix_transpose
vecdot = np.vecdot
