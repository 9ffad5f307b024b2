"""Comparison of NumPy arrays."""

from __future__ import annotations

import numpy as np

equal = np.equal
greater = np.greater
greater_equal = np.greater_equal
isfinite = np.isfinite
isinf = np.isinf
isnan = np.isnan
less = np.less
less_equal = np.less_equal
not_equal = np.not_equal
