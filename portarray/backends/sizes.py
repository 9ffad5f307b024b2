"""Checks against sizes that overflow 64 bits, for libraries that crash or wrap around."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["TooLargeError", "counted"]


class TooLargeError(MemoryError):
    """The size of an array overflows 64 bits.

    Attributes
    ----------
    asked : int
        Its size in bytes.
    """

    def __init__(self, shape: Sequence[int], asked: int) -> None:
        super().__init__(f"an array of shape {tuple(shape)} takes {asked} bytes")
        self.asked = asked


def counted(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return a shape if its size in bytes fits 64 bits.

    As in NumPy, axes of length 0 are left out of the product.

    Raises
    ------
    TooLargeError
        If it does not fit.
    """
    shape = tuple(shape)
    asked = itemsize * math.prod(shape)
    if not asked:
        asked = itemsize * math.prod(filter(None, shape))
    if asked >= 2**63:
        raise TooLargeError(shape, asked)
    return shape
