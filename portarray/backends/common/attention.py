"""Keys that attention excludes, and numbers that a weight of 0 does not exclude.

Fused functions give excluded keys the weight 0, and 0 times NaN or infinity is NaN. Where a result
does not have NaN, no such key has contributed to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["LARGE", "excludes", "has_nan", "in_use"]

LARGE = 1e15
"""Absolute value below which products and sums of attention are finite."""


def excludes(q: Any, /, *, causal: bool, mask: Any, **_: Any) -> bool:
    """Return whether a query may not see some of the keys in use."""
    return mask is not None or (causal and q.shape[-2] > 1)


def in_use(k: Any, v: Any, /, *, key_length: Any, **_: Any) -> tuple[Any, Any]:
    """Return the keys and values before an integer ``key_length``."""
    if not isinstance(key_length, int):
        return k, v
    return k[..., :key_length, :], v[..., :key_length, :]


def has_nan(x: np.ndarray[Any, Any]) -> bool:
    """Return whether floating-point numbers contain NaN."""
    row = (x if x.itemsize > 2 else x.astype(np.float32)).reshape(-1)
    total = np.dot(row, row)  # squares are not negative, so that infinities do not cancel
    return bool(total != total)
