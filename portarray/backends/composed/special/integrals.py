"""Incomplete gamma and beta functions, which are integrals."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from portarray.backends.composed.special.gamma_functions import (
    betaln,
    gammaln_from_two,
    positive_gammaln,
    stirling,
)
from portarray.backends.composed.special.series import LOG_ROOT_2PI, is_single, polynomial

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BLOCK = 16


@cache
def _nodes(step: float) -> list[tuple[float, float]]:
    """Return nodes and weights of integrals from 0 to infinity of what decays exponentially.

    H. Takahasi and M. Mori, "Double exponential formulas for numerical integration", Publ. RIMS 9
    (1974): the trapezoid rule in t, where the variable is exp(t - exp(-t)).
    """
    ts = [-3.6 + step * k for k in range(int(7.35 / step) + 1)]
    return [(w := math.exp(t - math.exp(-t)), step * w * (1 + math.exp(-t))) for t in ts]


def _integral(
    xp: Any, log_of: Callable[..., Any], args: Sequence[Any], slope: Any, bend: Any, rate: Any
) -> Any:
    """Return the integral of exp(log_of(w, *args)) over w from 0.

    The logarithm is at most ``-(slope * w + bend * w**2 / (2 + 2 * rate * w))``, which determines
    how far the nodes have to reach.
    """
    reach = 37.0  # exp(-37) is the precision of float64
    middle = 2 * (slope - reach * rate)
    lead = 2 * slope * rate + bend
    root = xp.sqrt(middle * middle + 8 * reach * lead)
    end = xp.where(middle > 0, 4 * reach / (middle + root), (root - middle) / (2 * lead))
    scale = end / reach
    rule = _nodes(0.2 if is_single(xp, scale) else 0.1)
    wide = [xp.expand_dims(x, axis=-1) for x in (scale, *args)]
    total: Any = 0.0
    for start in range(0, len(rule), _BLOCK):  # some at once: few calls, and little memory
        nodes, weights = (
            xp.asarray(column, dtype=scale.dtype, device=xp.device)
            for column in zip(*rule[start : start + _BLOCK], strict=True)
        )
        values = xp.exp(log_of(wide[0] * nodes, *wide[1:])) * weights
        total = total + xp.sum(values, axis=-1)
    return total * scale


_LOG_SERIES = [(-1) ** (k - 1) / k for k in range(2, 12)]
_EXP_SERIES = [(-1) ** k / math.factorial(k) for k in range(2, 12)]


def _without_line(xp: Any, w: Any, value: Any, series: Sequence[float]) -> Any:
    """Return a value without its linear term, which cancels where w is small."""
    return xp.where(xp.abs(w) < 0.02, w * w * polynomial(w, series), value)


def _gamma_parts(xp: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """Return both incomplete gamma functions, the smaller one with its relative precision."""
    inside = xp.logical_and(
        xp.logical_and(a > 0, x > 0), xp.logical_and(a < math.inf, x < math.inf)
    )
    s, z = xp.where(inside, a, 1.0), xp.where(inside, x, 1.0)
    # z**s exp(-z) / gamma(s)
    offset = (z - s) / s
    near = xp.abs(offset) < 0.5
    log = xp.where(near, xp.log1p(xp.where(near, offset, 0.0)), xp.log(z / s)) - offset
    log = _without_line(xp, offset, log, _LOG_SERIES)
    large = xp.maximum(s, 8.0)
    far = s * log - stirling(large) + 0.5 * xp.log(s) - LOG_ROOT_2PI
    factor = xp.exp(xp.where(s < 8, s * xp.log(z) - z - positive_gammaln(xp, s), far))
    # The integral of t**(s - 1) exp(-t), where t is z (1 + w) above z, and z exp(-w) below it.
    upper = z > s

    def log_of(w: Any, upper: Any, s: Any, z: Any) -> Any:
        log = _without_line(xp, w, xp.log1p(w) - w, _LOG_SERIES)
        power = _without_line(xp, w, xp.expm1(-w) + w, _EXP_SERIES)
        return xp.where(upper, (s - 1) * log - (z - s + 1) * w, (z - s) * w - z * power)

    slope = xp.where(upper, z - xp.maximum(s - 1, 0.0), s - z)
    bend = xp.where(upper, xp.maximum(s - 1, 0.0), z)
    value = factor * _integral(xp, log_of, (upper, s, z), slope, bend, 1.0)
    # Where s is small, the upper part's own series.
    small = xp.logical_and(z < 1.1, xp.logical_and(s < 1, s * xp.log(z) > -0.7))
    low, term, total = xp.minimum(s, 1.0), 1.0, 0.0
    for n in range(1, 20):
        term = term * -z / n
        total = total + term / (low + n)
    log_power = low * xp.log(z) - (gammaln_from_two(low) - xp.log1p(low))
    series = -xp.expm1(log_power) - xp.exp(log_power) * low * total
    upper = xp.logical_or(upper, small)
    value = xp.where(small, series, value)
    lower = xp.where(upper, 1 - value, value)
    value = xp.where(upper, value, 1 - value)
    # What is left: ends of the ranges, and outside them.
    bad = xp.logical_or(xp.logical_or(xp.isnan(a + x), xp.logical_or(a < 0, x < 0)), a == x)
    end = xp.where(xp.logical_or(a == 0, x == math.inf), 1.0, xp.zeros_like(x))
    end = xp.where(bad, math.nan, end)
    return xp.where(inside, lower, end), xp.where(inside, value, 1 - end)


def gammainc(xp: Any, a: Any, x: Any) -> Any:
    return _gamma_parts(xp, a, x)[0]


def gammaincc(xp: Any, a: Any, x: Any) -> Any:
    return _gamma_parts(xp, a, x)[1]


def betainc(xp: Any, a: Any, b: Any, x: Any) -> Any:
    inside = xp.logical_and(xp.logical_and(a > 0, b > 0), xp.logical_and(x > 0, x < 1))
    inside = xp.logical_and(inside, a + b < math.inf)
    p, q, z = (xp.where(inside, value, 0.5) for value in (a, b, x))
    complement = 1 - z
    swapped = z * (p + q) > p
    p, q = xp.where(swapped, q, p), xp.where(swapped, p, q)
    z, complement = xp.where(swapped, complement, z), xp.where(swapped, z, complement)
    # z**p (1 - z)**q / beta(p, q)
    offset = z * q - complement * p
    both = xp.minimum(p, q) >= 8
    s, t = xp.maximum(p, 8.0), xp.maximum(q, 8.0)
    far = p * xp.log1p(offset / p) + q * xp.log1p(-offset / q) - stirling(s) - stirling(t)
    far = far + stirling(s + t) + 0.5 * (xp.log(p / (p + q)) + xp.log(q)) - LOG_ROOT_2PI
    log_z = xp.where(z < 0.5, xp.log(z), xp.log1p(-complement))
    log_complement = xp.where(z < 0.5, xp.log1p(-z), xp.log(complement))
    factor = xp.exp(xp.where(both, far, p * log_z + q * log_complement - betaln(xp, p, q)))
    # A step of the recurrence, as the integral converges slowly where p is small.
    small = p < 1
    first = xp.where(small, factor / p, 0.0)
    factor = xp.where(small, factor * z * (1 + q / p), factor)
    p = xp.where(small, p + 1, p)
    # The integral of t**(p - 1) (1 - t)**(q - 1), where t is z exp(-w).
    odds = z / complement
    above = xp.maximum(q - 1, 0.0) * odds
    value = _integral(
        xp,
        lambda w, p, q, odds: (q - 1) * xp.log1p(-odds * xp.expm1(-w)) - p * w,
        (p, q, odds),
        xp.maximum(p - above, 0.0),
        above * (1 + odds),
        1 + odds,
    )
    value = first + value * factor / complement
    value = xp.where(swapped, 1 - value, value)
    # Steps at 0 and 1.
    early = xp.logical_or(a == 0, b == math.inf)
    step = xp.where(early, xp.ceil(x), xp.floor(x))
    bad = xp.logical_or(xp.isnan(a + b + x), xp.minimum(a, b) < 0)
    bad = xp.logical_or(bad, xp.logical_or(x < 0, x > 1))
    bad = xp.logical_or(bad, xp.logical_and(a == b, xp.logical_or(a == 0, a == math.inf)))
    return xp.where(inside, value, xp.where(bad, math.nan, step))
