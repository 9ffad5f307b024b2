"""Comparison of NumPy arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]

BY_DTYPE: Rows = {
    "equal": {"biufc": operator.eq},
    "greater": {"iuf": operator.gt},
    "greater_equal": {"iuf": operator.ge},
    "less": {"iuf": operator.lt},
    "less_equal": {"iuf": operator.le},
    "not_equal": {"biufc": operator.ne},
}


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Limit values; the bounds have x's dtype or are numbers that it holds."""
    return np.asarray(np.clip(x, min, max))
