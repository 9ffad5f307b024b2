"""What NumPy itself does right for arrays of one dtype.

Most functions here are NumPy's own already; indexing is left, where a scalar would come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["direct"]

Array = np.ndarray[Any, Any]


def direct(name: str, dtype: np.dtype[Any]) -> Callable[..., Any] | None:
    """Return NumPy's own function for arrays of a dtype, None where the namespace has it."""
    return _getitem if name == "getitem" else None


def _getitem(x: Array, key: Any) -> Any:
    if type(key) is tuple:
        return x[key] if Ellipsis in key else x[(*key, ...)]
    return x[key, ...]
