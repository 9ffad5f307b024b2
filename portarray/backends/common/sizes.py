"""Checks against sizes that overflow 64 bits, for libraries that crash or wrap around."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["TooLargeError", "counted", "grid"]


class TooLargeError(MemoryError):
    """The size of an array overflows 64 bits.

    Attributes
    ----------
    requested : int
        Its size in bytes.
    """

    def __init__(self, shape: Sequence[int], requested: int) -> None:
        super().__init__(f"an array of shape {tuple(shape)} takes {requested} bytes")
        self.requested = requested


def counted(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return a shape if its size in bytes fits 64 bits.

    As in NumPy, axes of length 0 are left out of the product.

    Raises
    ------
    TooLargeError
        If it does not fit.
    """
    shape = tuple(shape)
    nbytes = itemsize * math.prod(shape)
    if not nbytes:
        nbytes = itemsize * math.prod(filter(None, shape))
    if nbytes >= 2**63:
        raise TooLargeError(shape, nbytes)
    return shape


def grid(sizes: Sequence[int], indexing: str) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return the shape of a ``meshgrid``, and that of each array before it is broadcast."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    order = [*range(len(sizes))]
    if indexing == "xy":
        order[:2] = order[1::-1]
    shapes = []
    for axis, size in zip(order, sizes, strict=True):  # swapping two is its own inverse
        own = [1] * len(order)
        own[axis] = size
        shapes.append(tuple(own))
    return tuple([sizes[at] for at in order]), shapes
