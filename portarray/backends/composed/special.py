"""SciPy's special functions, composed of the standard's functions.

``xp`` is the namespace of a device's native arrays. Operands are arrays of one real floating-point
dtype, float32 or float64: 16-bit numbers are computed in float32. No step depends on values, so
that compilers can follow the functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from portarray._dtypes.accepted import Accepts
from portarray.backends.composed.exponential import expit

__all__ = ["expit"]

_LOG_ROOT = math.log(2 * math.pi) / 2


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Return a polynomial's values; the constant term comes first."""
    value: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


def _chebyshev(t: Any, coefficients: Sequence[float]) -> Any:
    """Return the values of a Chebyshev series at t from -1 to 1, by Clenshaw's recurrence."""
    higher, value = 0.0, coefficients[-1] + 0.0 * t
    for coefficient in coefficients[-2:0:-1]:
        higher, value = value, coefficient + 2 * t * value - higher
    return coefficients[0] + t * value - higher


def _is_single(xp: Any, x: Any) -> bool:
    return bool(x.dtype == xp.float32)


def _sin_pi(xp: Any, x: Any) -> Any:
    """Return sin(pi x) with its relative precision near its zeros, too."""
    nearest = xp.round(x)
    odd = nearest - 2 * xp.floor(nearest / 2)
    return xp.sin(math.pi * (x - nearest)) * (1 - 2 * odd)


# --- the normal distribution --------------------------------------------------------------------

# Chebyshev coefficients of (1 + 2 z) exp(z**2) erfc(z) in (z - K) / (z + K), z >= 0: M. M. Shepherd
# and J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < inf",
# Math. Comp. 36 (1981) 249-253. float32 needs the first 12.
_K = 3.75
_ERFC = (
    1.1775789345674017541, -4.5900545806464773309e-3, -8.4249133366517915584e-2,
    5.9209939998191890498e-2, -2.6658668435305752277e-2, 9.0749976707050652939e-3,
    -2.4131635404176081909e-3, 4.9077583652580268229e-4, -6.9169733025012063671e-5,
    4.1390279860730101675e-6, 7.7403830661984906686e-7, -2.1886401049234395661e-7,
    1.0764999465670910377e-8, 4.5219598112182868979e-9, -7.7544002088313511065e-10,
    -6.3180883408866844944e-11, 2.8687950109306698981e-11, 1.9455868545777347230e-13,
    -9.6546967484334389058e-13, 3.2525481481487398416e-14, 3.3478119482868053878e-14,
    -1.8645628804193131014e-15, -1.2507950530688647084e-15,
)  # fmt: skip
_ERF = [(-1) ** n * 2 / math.sqrt(math.pi) / (math.factorial(n) * (2 * n + 1)) for n in range(20)]


def _scaled_tail(xp: Any, z: Any) -> Any:
    """Return exp(z**2) erfc(z) for z >= 0."""
    t = 1 - (2 * _K) / (z + _K)
    value = _chebyshev(t, _ERFC[: 12 if _is_single(xp, z) else None])
    return xp.where(xp.isinf(z), 0.0, value / (1 + 2 * z))


def _exp_of_square(xp: Any, x: Any, factor: float) -> Any:
    """Return exp(-factor * x**2), whose error does not grow with x."""
    x = xp.minimum(x, 40.0)  # the result is 0 from there on in every dtype
    high = xp.round(8 * x) / 8  # its square is exact
    return xp.exp(-factor * high * high) * xp.exp(-factor * (x - high) * (x + high))


def normal_tail(xp: Any, x: Any) -> Any:
    """Return erfc(x / sqrt(2)) / 2, the upper tail of the normal distribution, for x >= 0."""
    return 0.5 * _scaled_tail(xp, x * math.sqrt(0.5)) * _exp_of_square(xp, x, 0.5)


def _erf_near_zero(x: Any, count: int = 20) -> Any:
    return x * _polynomial(x * x, _ERF[:count])


def erf(xp: Any, x: Any) -> Any:
    z = xp.abs(x)
    far = 1 - _scaled_tail(xp, z) * _exp_of_square(xp, z, 1.0)
    return xp.where(z < 1, _erf_near_zero(xp.clip(x, -1.0, 1.0)), xp.copysign(far, x))


def erfc(xp: Any, x: Any) -> Any:
    z = xp.abs(x)
    far = _scaled_tail(xp, z) * _exp_of_square(xp, z, 1.0)
    return xp.where(
        z < 0.5, 1 - _erf_near_zero(xp.clip(x, -0.5, 0.5)), xp.where(x < 0, 2 - far, far)
    )


def erfcx(xp: Any, x: Any) -> Any:
    tail = _scaled_tail(xp, xp.abs(x))
    return xp.where(x < 0, 2 / _exp_of_square(xp, xp.abs(x), 1.0) - tail, tail)


def ndtr(xp: Any, x: Any) -> Any:
    z = xp.abs(x)
    tail = normal_tail(xp, z)
    near = 0.5 + 0.5 * _erf_near_zero(xp.clip(x, -1.0, 1.0) * math.sqrt(0.5))
    return xp.where(z < 0.7, near, xp.where(x < 0, tail, 1 - tail))


def log_ndtr(xp: Any, x: Any) -> Any:
    far = xp.log(0.5 * _scaled_tail(xp, xp.abs(x) * math.sqrt(0.5))) - 0.5 * x * x
    return xp.where(x < -1, xp.where(xp.isinf(x), x, far), xp.log1p(-ndtr(xp, -x)))


# M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied
# Statistics 37 (1988), PPND16: rational functions in three regions, relative error 1e-16.
_CENTRAL = (
    (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
     45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
    (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
     21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
)  # fmt: skip
_TAIL = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 0.241780725177450611770, 0.0227238449892691845833,
     7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
     0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
_FAR_TAIL = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
     0.296560571828504891230, 0.0265321895265761230930, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip


def _ratio(x: Any, rational: tuple[Sequence[float], Sequence[float]]) -> Any:
    return _polynomial(x, rational[0]) / _polynomial(x, rational[1])


def _normal_quantile(xp: Any, q: Any, p: Any) -> Any:
    """Return the quantile at the probability 0.5 + q, where p is that of its nearer tail."""
    y = xp.sqrt(-xp.log(p))
    tail = xp.where(y <= 5, _ratio(y - 1.6, _TAIL), _ratio(xp.minimum(y, 100.0) - 5, _FAR_TAIL))
    tail = xp.copysign(xp.where(p == 0, math.inf, tail), q)
    return xp.where(xp.abs(q) <= 0.425, q * _ratio(0.180625 - q * q, _CENTRAL), tail)


def ndtri(xp: Any, p: Any) -> Any:
    return _normal_quantile(xp, p - 0.5, xp.minimum(p, 1 - p))


def erfinv(xp: Any, x: Any) -> Any:
    return _normal_quantile(xp, x / 2, (1 - xp.abs(x)) / 2) * math.sqrt(0.5)


# --- the gamma function -------------------------------------------------------------------------

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


def _stirling(x: Any) -> Any:
    """Return log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2, for large x."""
    return _polynomial(1 / x / x, _STIRLING) / x


def _raised(xp: Any, x: Any) -> tuple[Any, Any]:
    """Return x, or x + 8 where x is less, and the product x (x + 1) ... (x + 7), or 1."""
    small = x < _SHIFT
    product = x
    for n in range(1, _SHIFT):
        product = product * (x + n)
    return xp.where(small, x + _SHIFT, x), xp.where(small, product, 1.0)


def _positive_gammaln(xp: Any, x: Any) -> Any:
    high, product = _raised(xp, xp.maximum(x, 1.0))
    far = (high - 0.5) * xp.log(high) - high + _LOG_ROOT + _stirling(high) - xp.log(product)
    far = xp.where(high > 1e17, xp.where(xp.isinf(high), high, high * (xp.log(high) - 1)), far)
    near = xp.minimum(x, 4.0)
    below, low = near < 2, near < 1
    t = xp.where(low, near, xp.where(below, near - 1, xp.where(near < 3, near - 2, near - 3)))
    factor = xp.where(low, near * (near + 1), xp.where(below, near, 1.0))
    factor = xp.where(near < 3, 1 / factor, near - 1)
    return xp.where(x < 3.5, t * _ratio(t, _LGAM) + xp.log(factor), far)


def gammaln(xp: Any, x: Any) -> Any:
    size = xp.abs(x)
    value = _positive_gammaln(xp, size)
    # gamma(x) gamma(-x) = -pi / (x sin(pi x))
    below = math.log(math.pi) - xp.log(xp.abs(_sin_pi(xp, x))) - xp.log(size) - value
    below = xp.where(x == xp.floor(x), math.inf, below)
    value = xp.where(x < 0, below, xp.where(x == 0, math.inf, value))
    return xp.where(x == -math.inf, x, value)


def gamma(xp: Any, x: Any) -> Any:
    size = xp.abs(x)
    single = _is_single(xp, x)
    high, product = _raised(xp, xp.minimum(size, 36.0 if single else 180.0))
    root = xp.pow(high, 0.5 * high - 0.25)  # the power itself may overflow
    value = math.sqrt(2 * math.pi) * root * (xp.exp(_stirling(high) - high) * root) / product
    whole = size == xp.floor(size)
    value = xp.where(xp.logical_and(whole, size < (9 if single else 18)), xp.round(value), value)
    value = xp.where(size > (35.1 if single else 171.7), math.inf, value)
    below = -math.pi / _sin_pi(xp, size) / value / size
    below = xp.where(xp.logical_or(whole, xp.isinf(x)), math.nan, below)
    return xp.where(size < 1e-30, 1 / x, xp.where(x < 0, below, value))


def digamma(xp: Any, x: Any) -> Any:
    y = xp.where(x < 0, 1 - x, x)
    small = y < _SHIFT
    total: Any = 1 / y
    for n in range(1, _SHIFT):
        total = total + 1 / (y + n)
    high = xp.where(small, y + _SHIFT, y)
    value = xp.log(high) - 0.5 / high - _polynomial(1 / high / high, _DIGAMMA) / high / high
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
    for k, number in enumerate(_BERNOULLI, 1):
        total = total + term * (number / math.factorial(2 * k))
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
    below = 2 * xp.exp(log) * _sin_pi(xp, 0.5 * (1 - y)) * _hurwitz(xp, y, xp.ones_like(x))
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
    tail = _stirling(h) - _stirling(h + safe) - (h - 0.5) * xp.log1p(safe / h)
    one = _positive_gammaln(xp, safe) - safe * xp.log(h + safe) + safe + tail
    s = xp.maximum(low, 8.0)
    both = _LOG_ROOT - 0.5 * xp.log(s) - s * xp.log1p(h / s) + _stirling(s) + tail
    far = xp.where(xp.isinf(high), 0 * low - math.inf, xp.where(low < _SHIFT, one, both))
    far = xp.where(xp.logical_or(low < 0, high < _SHIFT), direct, far)
    return xp.where(xp.logical_and(low == 0, xp.logical_not(xp.isnan(high))), math.inf, far)


def beta(xp: Any, a: Any, b: Any) -> Any:
    low, high = xp.minimum(a, b), xp.maximum(a, b)
    direct = gamma(xp, high) / gamma(xp, a + b) * gamma(xp, low)
    small = xp.abs(a) + xp.abs(b) < (33 if _is_single(xp, a) else 170)
    return xp.where(xp.logical_and(small, low != 0), direct, xp.exp(betaln(xp, a, b)))


# --- incomplete integrals -----------------------------------------------------------------------


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
    rule = _nodes(0.2 if _is_single(xp, scale) else 0.1)
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
    return xp.where(xp.abs(w) < 0.02, w * w * _polynomial(w, series), value)


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
    far = s * log - _stirling(large) + 0.5 * xp.log(s) - _LOG_ROOT
    factor = xp.exp(xp.where(s < 8, s * xp.log(z) - z - _positive_gammaln(xp, s), far))
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
    log_power = low * xp.log(z) - (low * _ratio(low, _LGAM) - xp.log1p(low))
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
    far = p * xp.log1p(offset / p) + q * xp.log1p(-offset / q) - _stirling(s) - _stirling(t)
    far = far + _stirling(s + t) + 0.5 * (xp.log(p / (p + q)) + xp.log(q)) - _LOG_ROOT
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


# --- Bessel functions ---------------------------------------------------------------------------


@cache
def _bessel_coefficients(order: int, near: bool) -> list[float]:
    """Return Chebyshev coefficients of a scaled Bessel function of x.

    They are those of ``exp(-x) I(x) / x**order`` in ``x / 4 - 1`` up to 8, and of
    ``sqrt(x) exp(-x) I(x)`` in ``16 / x - 1`` beyond it, at Chebyshev's points: there the trapezoid
    rule for ``I(x) = integral of exp(x cos(t)) cos(order t) / pi`` is exact to the last digits,
    and the asymptotic series beyond 40.
    """
    count = 32
    odd = 2 * np.arange(count) + 1
    cosines = np.cos(np.arange(28)[:, None] * odd % (4 * count) * (math.pi / (2 * count)))
    points = cosines[1]
    x = 4 * (points + 1) if near else 16 / (points + 1)
    t = np.linspace(0, math.pi, 65)[:, None]
    weights = np.full((65, 1), 1 / 64)
    weights[[0, -1]] = 1 / 128
    # By parts, I1(x) / x is an integral without cancellation.
    factor = np.sin(t) ** 2 if near and order else np.cos(order * t)
    kernel = np.exp(-2 * x * np.sin(t / 2) ** 2) * factor
    values = np.sum(weights * kernel, axis=0)
    if not near:
        term = series = np.full(count, 1 / math.sqrt(2 * math.pi))
        for k in range(1, 40):
            term = term * -(4 * order**2 - (2 * k - 1) ** 2) / (k * 8 * np.maximum(x, 40.0))
            series = series + term
        values = np.where(x > 40, series, np.sqrt(x) * values)
    coefficients = 2 / count * np.sum(cosines * values, axis=1)
    coefficients[0] /= 2
    return list(map(float, coefficients))


def _bessel(xp: Any, x: Any, order: int) -> Any:
    """Return exp(-abs(x)) times the modified Bessel function of an order, 0 or 1."""
    size = xp.abs(x)
    near = _chebyshev(xp.minimum(size, 8.0) / 4 - 1, _bessel_coefficients(order, True))
    large = xp.maximum(size, 8.0)
    far = _chebyshev(16 / large - 1, _bessel_coefficients(order, False)) / xp.sqrt(large)
    if not order:
        return xp.where(size <= 8, near, far)
    return xp.where(size <= 8, x * near, xp.copysign(far, x))


def i0e(xp: Any, x: Any) -> Any:
    return _bessel(xp, x, 0)


def i1e(xp: Any, x: Any) -> Any:
    return _bessel(xp, x, 1)


def i0(xp: Any, x: Any) -> Any:
    half = xp.exp(xp.abs(x) / 2)  # the power itself may overflow
    return xp.where(xp.isinf(x), math.inf, half * _bessel(xp, x, 0) * half)


def i1(xp: Any, x: Any) -> Any:
    half = xp.exp(xp.abs(x) / 2)
    return xp.where(xp.isinf(x), x, half * _bessel(xp, x, 1) * half)


# --- logistic functions, entropies --------------------------------------------------------------


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


_NAMES = (
    "beta betainc betaln digamma entr erf erfc erfcx erfinv expit gamma gammainc gammaincc "
    "gammaln i0 i0e i1 i1e kl_div log_expit log_ndtr logit ndtr ndtri polygamma rel_entr "
    "riemann_zeta xlog1py xlogy zeta"
)
ACCEPTED: dict[str, Accepts] = dict.fromkeys(_NAMES.split(), Accepts("f", "bui", "floating"))
