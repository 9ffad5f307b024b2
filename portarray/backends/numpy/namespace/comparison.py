"""Comparison of NumPy arrays."""

from __future__ import annotations

import operator

import numpy as np

equal = operator.eq
greater = operator.gt
greater_equal = operator.ge
isfinite = np.isfinite
isinf = np.isinf
isnan = np.isnan
less = operator.lt
less_equal = operator.le
not_equal = operator.ne
