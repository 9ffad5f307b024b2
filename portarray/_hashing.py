"""Whether values can be keys of caches."""

from __future__ import annotations

from typing import Any

__all__ = ["hashable"]


def hashable(x: Any) -> bool:
    """Return whether a value, and all that it contains, has a hash."""
    try:
        hash(x)
    except TypeError:
        return False
    return True
