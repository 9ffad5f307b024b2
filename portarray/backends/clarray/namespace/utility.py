"""Tests of all elements, and differences. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.utility import all, any, diff

__all__ = [
    "all",
    "any",
    "diff",
]
