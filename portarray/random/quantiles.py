"""Random words to numbers of a distribution: the distributions' quantile functions.

Only ``+ - * /``, comparisons and the square root are used, which all devices round alike, so that
the numbers are the same everywhere; libraries' own logarithms differ in the last place.

The functions are helpers of kernels, and compute with arrays when they are called as plain
functions.
"""

from __future__ import annotations

from typing import Any

from portarray._api.exponential import sqrt
from portarray._api.searching import where
from portarray._kernel_language.intrinsics import Helper

# --- logarithms ---------------------------------------------------------------------------------
# log(1 + f) = f - (f*f/2 - s*(f*f/2 + R(s*s))) with s = f / (2 + f), and k*log(2) in two parts:
# e_log.c and e_logf.c of Sun's fdlibm, error below one unit in the last place. The bits of
# floats are not to be had in the standard: numbers are scaled by powers of two, which is exact.


@Helper
def _scaled(x: Any, k: Any, bound: Any, factor: Any, power: Any) -> Any:
    """Multiply values below a bound by 2**power, and subtract the power from k."""
    small = x < bound
    return where(small, x * factor, x), where(small, k - power, k)


@Helper
def _reduced(x: Any, k: Any) -> Any:
    """Return x / 2**n from 0.7 to 1.42, and k + n, for x from 2**-33 to 1."""
    x, k = _scaled(x, k, 1.52587890625e-05, 65536.0, 16)
    x, k = _scaled(x, k, 0.00390625, 256.0, 8)
    x, k = _scaled(x, k, 0.0625, 16.0, 4)
    x, k = _scaled(x, k, 0.25, 4.0, 2)
    x, k = _scaled(x, k, 0.5, 2.0, 1)
    x, k = _scaled(x, k, 0.5, 2.0, 1)
    return _scaled(x, k, 0.70703125, 2.0, 1)


@Helper
def log32(f: Any, k: Any) -> Any:
    """Return log(1 + f) + k*log(2) in float32."""
    s = f / (2 + f)
    z = s * s
    r = z * (0.66666662693 + z * (0.40000972152 + z * (0.28498786688 + z * 0.24279078841)))
    h = 0.5 * f * f
    return k * 0.69313812256 - ((h - (s * (h + r) + k * 9.0580006145e-06)) - f)


@Helper
def log64(f: Any, k: Any) -> Any:
    """Return log(1 + f) + k*log(2) in float64."""
    s = f / (2 + f)
    z = s * s
    r = 0.1531383769920937332 + z * 0.1479819860511658591
    r = 0.2222219843214978396 + z * (0.1818357216161805012 + z * r)
    r = 0.6666666666666735130 + z * (0.3999999999940941908 + z * (0.2857142874366239149 + z * r))
    h = 0.5 * f * f
    low = s * (h + z * r) + k * 1.90821492927058770002e-10
    return k * 0.69314718036912381649 - ((h - low) - f)


# --- the normal distribution --------------------------------------------------------------------
# M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied
# Statistics 37 (1988), PPND16: rational functions P(r)/Q(r) in three regions, relative error 1e-16.
# They stand as c + (r0 - r)*S(r)/Q(r), the same function with a smaller rounding error.


@Helper
def _central(q: Any) -> Any:
    """Return the quantile at the probability 0.5 + q, for q up to 0.425."""
    t = q * q
    r = 0.180625 - t
    s = 38579.04915793209 + r * (40495.706885421416 + r * 10591.799914467876)
    s = 2358.305945449973 + r * (14221.483431164575 + r * s)
    s = 4.87476594139995 + r * (176.9004440290076 + r * s)
    d = 39307.8958000927106 + r * (28729.0857357219427 + r * 5226.49527885285456)
    d = 5394.19602142475111 + r * (21213.7943015865959 + r * d)
    d = 42.3133307016009113 + r * (687.187007492057908 + r * d)
    return q * (2.5066282746310002 + t * (s / (1 + r * d)))


@Helper
def _tail(y: Any) -> Any:
    """Return the quantile at the tail probability exp(-y*y), for y from 1.6 to 5."""
    x = y - 1.6
    s = 0.22014637915688856 + x * (0.02194437964063419 + x * 0.0007745435186016953)
    s = 2.6660079023625047 + x * (1.059641556155897 + x * s)
    s = 1.7077486893198515 + x * (3.3832688422792585 + x * s)
    d = 0.0151986665636164572 + x * (5.475938084995344946e-4 + x * 1.05075007164441684e-9)
    d = 0.689767334985100005 + x * (0.148103976427480075 + x * d)
    d = 2.05319162663775882 + x * (1.67638483018380385 + x * d)
    return 1.42343711074968358 + x * (s / (1 + x * d))


@Helper
def _far_tail(y: Any) -> Any:
    """Return the quantile at the tail probability exp(-y*y), for y from 5."""
    x = y - 5
    s = 0.001119734834392765 + x * (2.616912671378623e-05 + x * 2.0103342631872e-07)
    s = 0.197521834816394 + x * (0.021293289884494068 + x * s)
    s = 1.4701592778141546 + x * (0.8731604498877555 + x * s)
    d = 1.8463183175100546818e-5 + x * (1.4215117583164458887e-7 + x * 2.04426310338993978564e-15)
    d = 0.0148753612908506149 + x * (7.868691311456132591e-4 + x * d)
    d = 0.59983220655588793769 + x * (0.13692988092273580531 + x * d)
    return 6.6579046435011037772 + x * (s / (1 + x * d))


@Helper
def normal32(q: Any, p: Any, zero: Any) -> Any:
    """Return the normal quantile of 0.5 + q = 1 - p, both at most 0.5, in float32."""
    x, k = _reduced(p, zero)
    y = sqrt(-log32(x - 1, k))
    return where(q <= 0.425, _central(q), _tail(y))


@Helper
def normal64(q: Any, p: Any, zero: Any) -> Any:
    """Return the normal quantile of 0.5 + q = 1 - p, both at most 0.5, in float64."""
    x, k = _scaled(p, zero, 2.3283064365386963e-10, 4294967296.0, 32)
    x, k = _reduced(x, k)
    y = sqrt(-log64(x - 1, k))
    return where(q <= 0.425, _central(q), where(y <= 5, _tail(y), _far_tail(y)))


# --- the exponential distribution ---------------------------------------------------------------


@Helper
def exponential32(u: Any, v: Any, zero: Any) -> Any:
    """Return -log(v) = -log(1 - u) in float32."""
    x, k = _reduced(v, zero)
    return -log32(where(u < 0.25, -u, x - 1), k)


@Helper
def exponential64(u: Any, v: Any, zero: Any) -> Any:
    """Return -log(v) = -log(1 - u) in float64."""
    x, k = _scaled(v, zero, 2.3283064365386963e-10, 4294967296.0, 32)
    x, k = _reduced(x, k)
    return -log64(where(u < 0.25, -u, x - 1), k)
