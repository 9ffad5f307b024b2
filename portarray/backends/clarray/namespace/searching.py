"""Finding elements. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.comparison import where

__all__ = [
    "where",
]
