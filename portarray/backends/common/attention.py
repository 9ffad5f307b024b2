"""When fused attention does not exclude keys: a weight of 0 times NaN is NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["LARGE", "NONFINITE", "excludes", "in_use", "is_small"]

LARGE = 1e15
"""Absolute value below which products and sums of attention are finite."""

NONFINITE = "some numbers are not known to be finite, and a weight of 0 does not exclude others"
"""The reason why a fused function is not used."""


def excludes(q: Any, /, *, causal: bool, mask: Any, **_: Any) -> bool:
    """Return whether a query may not see some of the keys in use."""
    return mask is not None or (causal and q.shape[-2] > 1)


def in_use(k: Any, v: Any, /, *, key_length: Any, **_: Any) -> tuple[Any, Any]:
    """Return the keys and values before an integer ``key_length``."""
    if not isinstance(key_length, int):
        return k, v
    return k[..., :key_length, :], v[..., :key_length, :]


def is_small(*arrays: np.ndarray[Any, Any]) -> bool:
    """Return whether all numbers are finite and far from overflow."""
    for x in arrays:
        row = (x if x.itemsize > 2 else x.astype(np.float32)).reshape(-1)
        if not np.dot(row, row) < LARGE**2:  # NaN is not less than a number
            return False
    return True
