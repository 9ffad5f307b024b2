"""Converting dpnp's arrays."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray
from dpnp.tensor import Device

from portarray.backends.dpnp import transfer


def astype(
    x: ndarray, dtype: np.dtype[Any], /, *, copy: bool = True, device: Device | None = None
) -> ndarray:
    """Convert to a dtype; complex numbers lose their imaginary part."""
    if x.dtype.kind == "c" and dtype.kind in "iuf":
        x = dpnp.real(x)
    out = dpnp.astype(x, dtype, copy=copy)
    return out if device is None else transfer.move(out, device, copy=None)
