"""The normal distribution and error functions."""

from __future__ import annotations

import math
from typing import Any

from portarray.backends.composed.special.series import chebyshev, is_single, polynomial, ratio

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
    value = chebyshev(t, _ERFC[: 12 if is_single(xp, z) else None])
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
    return x * polynomial(x * x, _ERF[:count])


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


def _normal_quantile(xp: Any, q: Any, p: Any) -> Any:
    """Return the quantile at the probability 0.5 + q, where p is that of its nearer tail."""
    y = xp.sqrt(-xp.log(p))
    tail = xp.where(y <= 5, ratio(y - 1.6, _TAIL), ratio(xp.minimum(y, 100.0) - 5, _FAR_TAIL))
    tail = xp.copysign(xp.where(p == 0, math.inf, tail), q)
    return xp.where(xp.abs(q) <= 0.425, q * ratio(0.180625 - q * q, _CENTRAL), tail)


def ndtri(xp: Any, p: Any) -> Any:
    return _normal_quantile(xp, p - 0.5, xp.minimum(p, 1 - p))


def erfinv(xp: Any, x: Any) -> Any:
    return _normal_quantile(xp, x / 2, (1 - xp.abs(x)) / 2) * math.sqrt(0.5)
