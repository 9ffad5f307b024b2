"""The gamma, beta and zeta functions."""

from __future__ import annotations

import math
from typing import Any

from portarray.backends.composed.special.series import (
    LOG_ROOT_2PI,
    is_single,
    polynomial,
    ratio,
    sin_pi,
)

# B(2k), the Bernoulli numbers.
_BERNOULLI = (
    *(1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798),
    *(-174611 / 330, 854513 / 138, -236364091 / 2730),
)
_STIRLING = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI[:9], 1)]
_DIGAMMA = [b / (2 * k) for k, b in enumerate(_BERNOULLI[:9], 1)]
_SHIFT = 8  # Stirling's series are used from here on
# log(gamma(2 + t)) / t for t from 0 to 1: Cephes, lgam (S. L. Moshier, 1987).
_LGAM = (
    (-853555.664245765465627, -1721737.00820839662146, -1162370.97492762307383,
     -331612.992738871184744, -38801.6315134637840924, -1378.25152569120859100),
    (-2018891.41433532773231, -2532523.07177582951285, -1139334.44367982507207,
     -220528.590553854454839, -17064.2106651881159223, -351.815701436523470549, 1.0),
)  # fmt: skip


def stirling(x: Any) -> Any:
    """Return log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2, for large x."""
    return polynomial(1 / x / x, _STIRLING) / x


def _raised(xp: Any, x: Any) -> tuple[Any, Any]:
    """Return x, or x + 8 where x is less, and the product x (x + 1) ... (x + 7), or 1."""
    small = x < _SHIFT
    product = x
    for n in range(1, _SHIFT):
        product = product * (x + n)
    return xp.where(small, x + _SHIFT, x), xp.where(small, product, 1.0)


def gammaln_from_two(t: Any) -> Any:
    """Return log(gamma(2 + t)) for t from 0 to 1."""
    return t * ratio(t, _LGAM)


def positive_gammaln(xp: Any, x: Any) -> Any:
    """Return log(gamma(x)) for x > 0."""
    high, product = _raised(xp, xp.maximum(x, 1.0))
    far = (high - 0.5) * xp.log(high) - high + LOG_ROOT_2PI + stirling(high) - xp.log(product)
    far = xp.where(high > 1e17, xp.where(xp.isinf(high), high, high * (xp.log(high) - 1)), far)
    near = xp.minimum(x, 4.0)
    below, low = near < 2, near < 1
    t = xp.where(low, near, xp.where(below, near - 1, xp.where(near < 3, near - 2, near - 3)))
    factor = xp.where(low, near * (near + 1), xp.where(below, near, 1.0))
    factor = xp.where(near < 3, 1 / factor, near - 1)
    return xp.where(x < 3.5, gammaln_from_two(t) + xp.log(factor), far)


def gammaln(xp: Any, x: Any) -> Any:
    size = xp.abs(x)
    value = positive_gammaln(xp, size)
    # gamma(x) gamma(-x) = -pi / (x sin(pi x))
    below = math.log(math.pi) - xp.log(xp.abs(sin_pi(xp, x))) - xp.log(size) - value
    below = xp.where(x == xp.floor(x), math.inf, below)
    value = xp.where(x < 0, below, xp.where(x == 0, math.inf, value))
    return xp.where(x == -math.inf, x, value)


def gamma(xp: Any, x: Any) -> Any:
    size = xp.abs(x)
    single = is_single(xp, x)
    high, product = _raised(xp, xp.minimum(size, 36.0 if single else 180.0))
    root = xp.pow(high, 0.5 * high - 0.25)  # the power itself may overflow
    value = math.sqrt(2 * math.pi) * root * (xp.exp(stirling(high) - high) * root) / product
    whole = size == xp.floor(size)
    value = xp.where(xp.logical_and(whole, size < (9 if single else 18)), xp.round(value), value)
    value = xp.where(size > (35.1 if single else 171.7), math.inf, value)
    below = -math.pi / sin_pi(xp, size) / value / size
    below = xp.where(xp.logical_or(whole, xp.isinf(x)), math.nan, below)
    return xp.where(size < 1e-30, 1 / x, xp.where(x < 0, below, value))


def digamma(xp: Any, x: Any) -> Any:
    y = xp.where(x < 0, 1 - x, x)
    small = y < _SHIFT
    total: Any = 1 / y
    for n in range(1, _SHIFT):
        total = total + 1 / (y + n)
    high = xp.where(small, y + _SHIFT, y)
    value = xp.log(high) - 0.5 / high - polynomial(1 / high / high, _DIGAMMA) / high / high
    value = value - xp.where(small, total, 0.0)
    distance = x - xp.round(x)
    below = value - math.pi / xp.tan(math.pi * distance)
    below = xp.where(distance == 0, math.nan, below)
    return xp.where(x < 0, below, xp.where(x == 0, -1 / x, xp.where(xp.isinf(x), x, value)))


def _hurwitz(xp: Any, s: Any, q: Any) -> Any:
    """Return the sum of (q + k)**-s over k, for q > 0, by Euler and Maclaurin's formula."""
    count = 10
    total = xp.pow(q, -s)
    for n in range(1, count):
        total = total + xp.pow(q + n, -s)
    a = q + count
    power = xp.pow(a, -s)
    total = total + xp.pow(a, 1 - s) / (s - 1) + 0.5 * power
    s = xp.minimum(s, 1e15)  # the terms are 0 long before, but their factors would overflow
    term = power * (s / a)
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + term * (bernoulli / math.factorial(2 * k))
        term = term * ((s + (2 * k - 1)) / a) * ((s + 2 * k) / a)
    return total


def zeta(xp: Any, x: Any, q: Any) -> Any:
    whole = xp.floor(q)
    part = xp.where(q < 0, q - whole, q)
    value = _hurwitz(xp, x, xp.where(part == 0, 1.0, part))
    # The numbers below 0 are a finite sum: a difference of two infinite ones of the other sign.
    above = xp.where(q < 0, 1 - part, 1.0)
    finite = _hurwitz(xp, x, above) - _hurwitz(xp, x, xp.where(q < 0, 1 - q, 1.0))
    odd = x - 2 * xp.floor(x / 2)
    below = xp.where(x == xp.floor(x), value + (1 - 2 * odd) * finite, math.nan)
    value = xp.where(q < 0, below, value)
    poles = xp.logical_and(q <= 0, q == whole)
    value = xp.where(xp.logical_and(xp.isinf(q), q > 0), 0.0, value)
    value = xp.where(xp.logical_or(poles, x == 1), math.inf, value)
    return xp.where(xp.logical_or(xp.isnan(q), xp.logical_not(x >= 1)), math.nan, value)


def riemann_zeta(xp: Any, x: Any) -> Any:
    above = _hurwitz(xp, xp.maximum(x, 0.0), xp.ones_like(x))
    y = 1 - xp.minimum(x, 0.0)
    log = gammaln(xp, y) - y * math.log(2 * math.pi)
    below = 2 * xp.exp(log) * sin_pi(xp, 0.5 * (1 - y)) * _hurwitz(xp, y, xp.ones_like(x))
    below = xp.where(xp.isinf(x), math.nan, below)
    return xp.where(x < 0, below, xp.where(x == 1, math.inf, above))


def polygamma(xp: Any, n: Any, x: Any) -> Any:
    sign = 2 * (n - 2 * xp.floor(n / 2)) - 1
    higher = sign * gamma(xp, n + 1) * zeta(xp, xp.where(n == 0, 2.0, n + 1), x)
    return xp.where(n == 0, digamma(xp, x), higher)


def betaln(xp: Any, a: Any, b: Any) -> Any:
    low, high = xp.minimum(a, b), xp.maximum(a, b)
    direct = gammaln(xp, a) + gammaln(xp, b) - gammaln(xp, a + b)
    # Stirling's formula for the larger: differences of large logarithms cancel.
    h = xp.maximum(high, 8.0)
    safe = xp.maximum(low, 1e-30)
    tail = stirling(h) - stirling(h + safe) - (h - 0.5) * xp.log1p(safe / h)
    small = positive_gammaln(xp, safe) - safe * xp.log(h + safe) + safe + tail
    s = xp.maximum(low, 8.0)
    large = LOG_ROOT_2PI - 0.5 * xp.log(s) - s * xp.log1p(h / s) + stirling(s) + tail
    far = xp.where(xp.isinf(high), 0 * low - math.inf, xp.where(low < _SHIFT, small, large))
    far = xp.where(xp.logical_or(low < 0, high < _SHIFT), direct, far)
    return xp.where(xp.logical_and(low == 0, xp.logical_not(xp.isnan(high))), math.inf, far)


def beta(xp: Any, a: Any, b: Any) -> Any:
    low, high = xp.minimum(a, b), xp.maximum(a, b)
    direct = gamma(xp, high) / gamma(xp, a + b) * gamma(xp, low)
    small = xp.abs(a) + xp.abs(b) < (33 if is_single(xp, a) else 170)
    return xp.where(xp.logical_and(small, low != 0), direct, xp.exp(betaln(xp, a, b)))
