"""Arithmetic and signs, element by element."""

from portarray._api.arithmetic.operations import (
    add,
    divide,
    floor_divide,
    multiply,
    negative,
    positive,
    reciprocal,
    remainder,
    subtract,
)
from portarray._api.arithmetic.signs import abs, copysign, nextafter, sign, signbit

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
