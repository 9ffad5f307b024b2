"""Sets of NumPy values."""

from __future__ import annotations

import numpy as np

isin = np.isin
unique_all = np.unique_all
unique_counts = np.unique_counts
unique_inverse = np.unique_inverse
unique_values = np.unique_values
