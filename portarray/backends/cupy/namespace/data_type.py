"""Dtype conversion; CuPy's dtypes are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from cupy import ndarray

from portarray.backends.cupy import transfer

DType = np.dtype[Any]


def astype(x: ndarray, dtype: DType, /, *, copy: bool = True, device: Any = None) -> ndarray:
    """Convert to a dtype; complex numbers lose their imaginary part."""
    if device is not None and device != x.device:
        return transfer.move(astype(x, dtype, copy=False), device, copy=None)
    dtype = np.dtype(dtype)
    if x.dtype.kind == "c" and dtype.kind != "c":
        # CuPy would warn.
        x = x != 0 if dtype.kind == "b" else x.real
    return x.astype(dtype, copy=copy)
