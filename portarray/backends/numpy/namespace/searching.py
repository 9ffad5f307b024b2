"""Searching NumPy arrays."""

from __future__ import annotations

import numpy as np
from array_api_compat.numpy import count_nonzero

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]

argmax = np.argmax
argmin = np.argmin
nonzero = np.nonzero
searchsorted = np.searchsorted
where = np.where
