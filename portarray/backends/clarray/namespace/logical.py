"""Logic on booleans. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.logical import logical_and, logical_not, logical_or, logical_xor

__all__ = [
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
]
