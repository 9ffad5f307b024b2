"""Linear algebra on clarray's arrays."""

from __future__ import annotations

from portarray.clarray import Array, astype
from portarray.clarray.arguments import default_dtype
from portarray.clarray.linalg import matrix_power as _matrix_power


def matrix_power(x: Array, n: int, /) -> Array:
    """Return powers of square matrices; negative ones of integers are floating-point."""
    if n < 0 and x.dtype.kind in "iu":
        x = astype(x, default_dtype(x.device, "real floating"))
    return _matrix_power(x, n)
