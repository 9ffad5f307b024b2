"""Sets of unique elements. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.sets import isin, unique_all, unique_counts, unique_inverse, unique_values

__all__ = [
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
