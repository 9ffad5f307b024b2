"""``all``, ``any`` and ``diff`` of dpnp arrays."""

from __future__ import annotations

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.manipulation import together

all = dpnp.all
any = dpnp.any


def diff(
    x: ndarray,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: ndarray | None = None,
    append: ndarray | None = None,
) -> ndarray:
    """Return n-th differences along an axis."""
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        x = dpnp.concat(together(parts), axis=axis)
    return dpnp.diff(x, n=n, axis=axis)
