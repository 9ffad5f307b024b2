"""Comparison of NumPy arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from array_api_compat.numpy import clip as _clip

from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]

ROWS: Rows = {
    "equal": {"biufc": operator.eq},
    "greater": {"iuf": operator.gt},
    "greater_equal": {"iuf": operator.ge},
    "less": {"iuf": operator.lt},
    "less_equal": {"iuf": operator.le},
    "not_equal": {"biufc": operator.ne},
}


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Limit values; the result keeps x's dtype."""
    return np.asarray(_clip(x, min, max))
