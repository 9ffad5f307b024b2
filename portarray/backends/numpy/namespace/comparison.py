"""Comparison of NumPy arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from array_api_compat.numpy import clip as _clip

Array = np.ndarray[Any, Any]

equal = operator.eq
greater = operator.gt
greater_equal = operator.ge
isfinite = np.isfinite
isinf = np.isinf
isnan = np.isnan
less = operator.lt
less_equal = operator.le
maximum = np.maximum
minimum = np.minimum
not_equal = operator.ne


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Limit values; the result keeps x's dtype."""
    return np.asarray(_clip(x, min, max))
