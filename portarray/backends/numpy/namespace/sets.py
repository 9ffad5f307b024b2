"""Sets of NumPy values."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

isin = np.isin
unique_all = np.unique_all
unique_counts = np.unique_counts
unique_inverse = np.unique_inverse


def unique_values(x: Array, /) -> Array:
    """Return the unique elements in ascending order, which NumPy's own function does not."""
    return np.unique(x, equal_nan=False)
