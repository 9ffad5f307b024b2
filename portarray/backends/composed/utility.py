"""``diff`` by slices."""

from __future__ import annotations

from typing import Any

__all__ = ["diff"]


def diff(
    xp: Any,
    x: Any,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Any = None,
    append: Any = None,
) -> Any:
    """Return n-th differences along an axis; for booleans exclusive or."""
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    if n == 0:
        return x
    parts = [part for part in (prepend, x, append) if part is not None]
    out = xp.concat(parts, axis=axis) if len(parts) > 1 else x
    leading = (slice(None),) * (axis % out.ndim)
    differ = xp.not_equal if xp.isdtype(out.dtype, "bool") else xp.subtract
    for _ in range(n):
        size = out.shape[axis]
        later = xp.getitem(out, (*leading, slice(1, None)))
        out = differ(later, xp.getitem(out, (*leading, slice(0, max(size - 1, 0)))))
    return out
