"""Sizes that no machine has, for libraries that do worse than refuse them."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["TooLargeError", "counted"]


class TooLargeError(MemoryError):
    """An array that there is no memory for, on the device where it was asked for.

    Attributes
    ----------
    asked : int
        The bytes that it takes.
    """

    def __init__(self, shape: Sequence[int], asked: int) -> None:
        super().__init__(f"an array of shape {tuple(shape)} takes {asked} bytes")
        self.asked = asked


def counted(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return a shape whose bytes 64 bits can count.

    As in NumPy, axes without elements do not make up for the others: libraries multiply those too.

    Raises
    ------
    TooLargeError
        For any other.
    """
    shape = tuple(shape)
    asked = itemsize * math.prod(shape)
    if not asked:
        asked = itemsize * math.prod(filter(None, shape))
    if asked >= 2**63:
        raise TooLargeError(shape, asked)
    return shape
