"""Rounding to whole numbers. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.rounding import ceil, floor, round, trunc

__all__ = [
    "ceil",
    "floor",
    "round",
    "trunc",
]
