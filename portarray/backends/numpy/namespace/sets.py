"""Sets of NumPy values."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def unique_values(x: Array, /) -> Array:
    """Return the unique elements in ascending order, unlike np.unique_values."""
    return np.unique(x, equal_nan=False)
