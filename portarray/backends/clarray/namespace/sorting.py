"""Sorting. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.sorting import argsort, sort

__all__ = [
    "argsort",
    "sort",
]
