"""Making NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> np.ndarray[Any, Any]:
    """Return an array of an object's values."""
    return np.array(obj, dtype, copy=copy)
