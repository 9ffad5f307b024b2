"""Dtypes of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.backends.common.silence import silently

Array = np.ndarray[Any, Any]


_DTYPES = tuple(map(np.dtype, "?bhilBHILfdFD"))
SILENT = frozenset(
    (source, target)
    for source in _DTYPES
    for target in _DTYPES
    if np.can_cast(source, target) or source.kind in "biu"
)
"""Conversions that NumPy does not warn about; ``errstate`` takes longer than a small one."""


def astype(x: Array, dtype: np.dtype[Any], /, *, copy: bool = True, device: Any = None) -> Array:
    """Return x in another dtype."""
    if (x.dtype, dtype) in SILENT:
        return x.astype(dtype, copy=copy)
    if x.dtype.kind == "c" and dtype.kind in "biuf":
        # NumPy warns when it drops the imaginary part.
        x = x.real if dtype.kind != "b" else x != 0
    converted: Array = silently(x.astype, dtype, copy=copy)
    return converted
