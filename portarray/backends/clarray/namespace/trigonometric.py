"""Trigonometric and hyperbolic functions. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.exponential import hypot
from portarray.clarray.trigonometric import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    sin,
    sinh,
    tan,
    tanh,
)

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "hypot",
    "sin",
    "sinh",
    "tan",
    "tanh",
]
