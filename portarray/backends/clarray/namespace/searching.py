"""Finding elements. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.comparison import where
from portarray.clarray.searching import argmax, argmin, count_nonzero, nonzero, searchsorted

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "where",
]
