"""``searchsorted`` by bisection."""

from __future__ import annotations

from typing import Any, Literal

__all__ = ["searchsorted"]


def searchsorted(
    xp: Any,
    x1: Any,
    x2: Any,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Any = None,
) -> Any:
    """Return where elements would be inserted into a sorted array; NaN sorts last.

    Bisects for all elements of x2 at once, in ``log2(len(x1))`` steps.
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    dtype = xp.result_type(x1, x2)
    x1 = xp.astype(x1, dtype, copy=False)
    if hasattr(x2, "dtype"):
        x2 = xp.astype(x2, dtype, copy=False)
    else:
        x2 = xp.full((), x2, dtype=dtype, device=xp.device)
    if sorter is not None:
        x1 = xp.take(x1, sorter, axis=0)
    size = x1.shape[0]
    low = xp.zeros(x2.shape, dtype=xp.index_dtype, device=xp.device)
    if size == 0:
        return low
    high = xp.full(x2.shape, size, dtype=xp.index_dtype, device=xp.device)
    for _ in range(size.bit_length()):
        middle = xp.bitwise_right_shift(xp.add(low, high), 1)
        # Empty intervals stay.
        open_ = xp.less(low, high)
        probe = _taken(xp, x1, xp.minimum(middle, size - 1))
        beyond = xp.logical_and(open_, _is_before(xp, probe, x2, side))
        low = xp.where(beyond, xp.add(middle, 1), low)
        high = xp.where(xp.logical_and(open_, xp.logical_not(beyond)), middle, high)
    return low


def _is_before(xp: Any, probe: Any, sought: Any, side: str) -> Any:
    """Return where a probed element comes before the insertion point."""
    is_before = xp.less(probe, sought) if side == "left" else xp.less_equal(probe, sought)
    if not xp.isdtype(probe.dtype, "real floating"):
        return is_before
    sought_last = xp.isnan(sought)
    if side == "left":
        sought_last = xp.logical_and(sought_last, xp.logical_not(xp.isnan(probe)))
    return xp.logical_or(is_before, sought_last)


def _taken(xp: Any, x: Any, indices: Any) -> Any:
    return xp.reshape(xp.take(x, xp.reshape(indices, (-1,)), axis=0), indices.shape)
