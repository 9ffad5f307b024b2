"""Products of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the inner product along an axis, of the first operand's conjugate."""
    # NumPy's stubs do not know axis here.
    return np.asarray(np.vecdot(x1, x2, axis=axis))  # type: ignore[call-overload]
