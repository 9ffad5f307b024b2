"""Shapes: what needs no array of any library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["broadcast_shapes"]


def broadcast_shapes(xp: Any, *shapes: Sequence[int | None]) -> tuple[int | None, ...]:
    """Return the shape that shapes broadcast to; None is an unknown size.

    An unknown size beside a known one other than 1 must turn out as that one, or as 1.

    Raises
    ------
    ValueError
        If sizes conflict.
    """
    ndim = max((len(shape) for shape in shapes), default=0)
    result: list[int | None] = []
    for place in range(-ndim, 0):
        sizes = {shape[place] for shape in shapes if len(shape) >= -place} - {1}
        known = sizes - {None}
        if len(known) > 1:
            raise ValueError(
                f"shapes {', '.join(str(tuple(shape)) for shape in shapes)} do not broadcast: "
                f"axis {place} has sizes {sorted(size for size in known if size is not None)}"
            )
        result.append(next(iter(known or sizes), 1))
    return tuple(result)
