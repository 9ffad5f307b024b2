"""Sizes that no machine has, for libraries that do worse than refuse them."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["counted", "too_large"]


def counted(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return a shape whose bytes 64 bits can count.

    Raises
    ------
    MemoryError
        With ``asked``, the bytes that it takes.
    """
    shape = tuple(shape)
    asked = itemsize * math.prod(shape)
    if asked >= 2**63:
        raise too_large(shape, asked)
    return shape


def too_large(shape: Sequence[int], asked: int) -> MemoryError:
    """Return the error for an array that there is no memory for; ``asked`` is its attribute too."""
    error = MemoryError(f"an array of shape {tuple(shape)} takes {asked} bytes")
    error.asked = asked  # type: ignore[attr-defined]
    return error
