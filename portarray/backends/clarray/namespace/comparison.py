"""Comparing arrays. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.comparison import (
    clip,
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    maximum,
    minimum,
    not_equal,
)

__all__ = [
    "clip",
    "equal",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "maximum",
    "minimum",
    "not_equal",
]
