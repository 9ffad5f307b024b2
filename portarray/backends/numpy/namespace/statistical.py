"""Statistics of NumPy arrays."""

from __future__ import annotations

import numpy as np
from array_api_compat.numpy import cumulative_prod, cumulative_sum

__all__ = [
    "cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var",
]  # fmt: skip

max = np.max
mean = np.mean
min = np.min
prod = np.prod
std = np.std
sum = np.sum
var = np.var
