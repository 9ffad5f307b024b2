"""Reductions and cumulative sums. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.statistical import max, mean, min, prod, std, sum, var

__all__ = [
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]
