"""Who owns the memory of NumPy arrays."""

from __future__ import annotations

from typing import Any

__all__ = ["owner_of"]


def owner_of(x: Any) -> int:
    """Return the id of the object that owns an array's memory, also where buffers are viewed."""
    while (base := getattr(x, "base", None)) is not None:
        x = base
    return owner_of(x.obj) if x.__class__ is memoryview else id(x)
