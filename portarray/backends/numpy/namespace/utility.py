"""Testing NumPy arrays for truth, and their differences."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

all = np.all
any = np.any


def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Return the differences of neighbours; NumPy would take None for an object to prepend."""
    ends = {"prepend": prepend, "append": append}
    given = {side: values for side, values in ends.items() if values is not None}
    return np.diff(x, n=n, axis=axis, **given)
