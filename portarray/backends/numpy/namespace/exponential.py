"""Exponentials and logarithms of NumPy arrays."""

from __future__ import annotations

import numpy as np

exp = np.exp
expm1 = np.expm1
log = np.log
log10 = np.log10
log1p = np.log1p
log2 = np.log2
