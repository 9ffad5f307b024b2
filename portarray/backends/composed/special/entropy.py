"""Logistic functions, entropies and divergences."""

from __future__ import annotations

import math
from typing import Any


def log_expit(xp: Any, x: Any) -> Any:
    return xp.minimum(x, 0.0) - xp.log1p(xp.exp(-xp.abs(x)))


def logit(xp: Any, x: Any) -> Any:
    s = 2 * (x - 0.5)
    near = xp.abs(s) < 0.5
    s = xp.where(near, s, 0.0)
    return xp.where(near, xp.log1p(s) - xp.log1p(-s), xp.log(x / (1 - x)))


def xlogy(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(xp.logical_and(x == 0, xp.logical_not(xp.isnan(y))), 0.0, x * xp.log(y))


def xlog1py(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(xp.logical_and(x == 0, xp.logical_not(xp.isnan(y))), 0.0, x * xp.log1p(y))


def entr(xp: Any, x: Any) -> Any:
    inside = -xp.where(x > 0, x * xp.log(x), 0.0)
    return xp.where(xp.isnan(x), x, xp.where(x < 0, -math.inf, inside))


def _log_of_ratio(xp: Any, x: Any, y: Any) -> Any:
    """Return log(x / y) of positive numbers, whose quotient may overflow or be near 1."""
    ratio = x / y
    near = xp.logical_and(ratio > 0.5, ratio < 2)
    fair = xp.logical_and(ratio > 1e-30, ratio < 1e30)
    far = xp.where(fair, xp.log(ratio), xp.log(x) - xp.log(y))
    return xp.where(near, xp.log1p(xp.where(near, (x - y) / y, 0.0)), far)


def _divergence(xp: Any, x: Any, y: Any, inside: Any, at_zero: Any) -> Any:
    value = xp.where(xp.logical_and(x == 0, y >= 0), at_zero, math.inf)
    value = xp.where(xp.logical_and(x > 0, y > 0), inside, value)
    return xp.where(xp.logical_or(xp.isnan(x), xp.isnan(y)), math.nan, value)


def rel_entr(xp: Any, x: Any, y: Any) -> Any:
    return _divergence(xp, x, y, x * _log_of_ratio(xp, x, y), xp.zeros_like(y))


def kl_div(xp: Any, x: Any, y: Any) -> Any:
    return _divergence(xp, x, y, x * _log_of_ratio(xp, x, y) - x + y, y)
