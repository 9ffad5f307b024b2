"""Arithmetic on arrays. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.arithmetic import (
    abs,
    add,
    copysign,
    divide,
    floor_divide,
    multiply,
    negative,
    nextafter,
    positive,
    reciprocal,
    remainder,
    sign,
    signbit,
    subtract,
)

__all__ = [
    "abs",
    "add",
    "copysign",
    "divide",
    "floor_divide",
    "multiply",
    "negative",
    "nextafter",
    "positive",
    "reciprocal",
    "remainder",
    "sign",
    "signbit",
    "subtract",
]
