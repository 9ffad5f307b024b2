"""Powers, exponentials and logarithms. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.arithmetic import square
from portarray.clarray.exponential import exp, expm1, log, log1p, log2, log10, logaddexp, pow, sqrt

__all__ = [
    "exp",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "pow",
    "sqrt",
    "square",
]
