"""The rejection methods of gamma, truncated normal, Poisson and binomial numbers.

What is accepted is decided with ``+ - * /`` and comparisons alone, so that it is the same on every
device. Numbers of float16 and bfloat16 are made in float32, and so are counts on all devices, some
of which lack float64. Counts of large means are sums of an integer and of a small float.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray._api.comparison import maximum, minimum
from portarray._api.constants import pi
from portarray._api.data_type import astype
from portarray._api.rounding import floor
from portarray._api.searching import where
from portarray._array.array import Array
from portarray.random import distributions, drawing, quantiles, repeating
from portarray.random.distributions import F32, HALF, LOW31, STEP32

DType = np.dtype[Any]

# --- words to standard numbers ------------------------------------------------------------------


def _pair(words: tuple[Array, ...], dtype: DType) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return the words of two numbers: 64 bits for each in float64, else 32."""
    if dtype.itemsize == 8:
        return (words[0], words[1]), (words[2], words[3])
    return (words[0], 0), (words[1], 0)


def _counters(dtype: DType) -> int:
    return 2 if dtype.itemsize == 8 else 1


def _exponential(words: tuple[Any, Any], dtype: DType) -> Array:
    draw = drawing.exponential(dtype)
    return draw.sampler.formula(*words, *draw.values)


def _normal(words: tuple[Any, Any], dtype: DType) -> Array:
    draw = drawing.normal(dtype)
    return draw.sampler.formula(*words, *draw.values)


def _uniform(words: tuple[Any, Any], dtype: DType) -> Array:
    """Return numbers between 0 and 1."""
    if dtype.itemsize == 8:
        return distributions.UNIFORM64.formula(*words, 1.0, 0.0, 1.0)
    return astype(words[0] >> 8, dtype) * 2.0**-24


# --- functions of products and sums -------------------------------------------------------------


def log(x: Array) -> Array:
    """Return logarithms of numbers from 2**-127 to 2**127, the same on every device."""
    k = x * 0
    for power in (64, 32, 16, 8, 4, 2, 1):
        large = x >= 2.0**power
        x, k = where(large, x * 2.0**-power, x), where(large, k + power, k)
    for power in (64, 32, 16, 8, 4, 2, 1):
        small = x < 2.0**-power * 1.5
        x, k = where(small, x * 2.0**power, x), where(small, k - power, k)
    large = x >= 1.4140625
    x, k = where(large, x * 0.5, x), where(large, k + 1, k)
    result: Array = (quantiles.log64 if x.dtype.itemsize == 8 else quantiles.log32)(x - 1, k)
    return result


def root(x: Array) -> Array:
    """Return square roots of numbers from 2**-126 to 2**126, the same on every device."""
    scale = unit = x * 0 + 1
    for power in (64, 32, 16, 8, 4, 2):
        large, small = x >= 2.0**power, x < 2.0**-power
        x = x * where(large, 2.0**-power, where(small, 2.0**power, unit))
        half = power // 2
        scale = scale * where(large, 2.0**half, where(small, 2.0**-half, unit))
    y = (x + 1) * HALF
    for _ in range(6):
        y = (y + x / y) * HALF
    return y * scale


# --- gamma --------------------------------------------------------------------------------------


def gamma(dtype: DType) -> repeating.Law:
    """Return the law of gamma numbers of shapes from 1 on.

    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions
    on Mathematical Software 26 (2000). A number is ``d * (1 + y)**3`` for normal numbers ``y``; the
    exponent that it is accepted by is ``3 * d * (log(1 + y) - y + y**2 / 2 - y**3 / 3)``.
    """

    def attempt(*values: Array) -> tuple[Array, Array]:
        *words, d, c = values
        first, second = _pair(tuple(words), dtype)
        y = _normal(first, dtype) * c
        exponential = _exponential(second, dtype)
        possible = y > -1
        w = where(possible, 1 + y, 1.0)
        series = y * 0
        for n in range(13, 3, -1):
            series = (1.0 if n % 2 else -1.0) / n + y * series
        far = log(w) - y * (1 - y * (HALF - y / 3))
        near = (y < 0.15) & (y > -0.15)
        exponent = where(near, y * y * (y * y) * series, far) * (3 * d)
        return d * (w * w * w), possible & (exponential > -exponent)

    return repeating.accepting(attempt, 12, _counters(dtype))


# --- truncated normal ---------------------------------------------------------------------------


def truncated_normal(dtype: DType) -> repeating.Law:
    """Return the law of normal numbers from ``low`` to ``high``, where ``low + high`` is positive.

    C. P. Robert, "Simulation of truncated normal variables", Statistics and Computing 5 (1995):
    uniform numbers in short intervals, else normal numbers, or shifted exponential ones of the rate
    ``rate`` in the tail. At least half of the numbers are accepted.
    """

    def attempt(*values: Array) -> tuple[Array, Array]:
        *words, low, high, rate = values
        first, second = _pair(tuple(words), dtype)
        exponential = _exponential(second, dtype)
        tail = low > -0.45
        positive = maximum(low, 0.0)
        is_short = where(tail, rate * (high - low) < where(low < 1, 1.5, 1.1), high - low < 2.5)
        width = where(is_short, high - low, 0.0)
        uniform = low + width * _uniform(first, dtype)
        shifted = low + _exponential(first, dtype) / rate
        x = where(is_short, uniform, where(tail, shifted, _normal(first, dtype)))
        away = x - rate
        penalty = where(
            is_short, (x - positive) * (x + positive) * HALF, where(tail, away * away * HALF, 0.0)
        )
        return x, (x >= low) & (x <= high) & (exponential >= penalty)

    return repeating.accepting(attempt, 32, _counters(dtype))


# --- counts of large means ----------------------------------------------------------------------
# C. Loader, "Fast and accurate computation of binomial probabilities" (2000): probabilities as
# deviances and the remainders of Stirling's formula, without differences of large numbers.

SMALL_MEAN = 10.0
"""Counts of smaller means are made by the times of arrivals."""


def _stirling(n: Array) -> Array:
    """Return log(n!) - log(sqrt(2 pi n) (n/e)**n) for n from 1 on, as Stieltjes' fraction."""
    x = n
    for coefficient in (3.009917383, 2.269488974, 1.517473649, 22999 / 22737, 195 / 371, 53 / 210):
        x = n + coefficient / x
    return (1 / 12) / (n + (1 / 30) / x)


def _deviance(k: Array, mean: Array, difference: Array) -> Array:
    """Return k * log(k / mean) + mean - k, where ``difference`` is k - mean."""
    t = difference / (k + mean)
    square = t * t
    series = square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square * (1 / 9))))
    near = difference * t + 2 * k * t * series
    far = k * log(maximum(k, 2.0**-30) / mean) - difference
    return where((t < 0.1) & (t > -0.1), near, far)


def _remainder(k: Array) -> Array:
    return where(k < HALF, 0.0, _stirling(maximum(k, 1.0)))


def _candidate(
    x0: Array, x1: Array, b: Array, a: Array, frac: Array, centre: float
) -> tuple[Array, Array, Array]:
    """Return offsets from the mean's integer part, their envelope, and exponential numbers.

    Transformed rejection with squeeze is of W. Hörmann, "The transformed rejection method for
    generating Poisson random variables", Insurance: Mathematics and Economics 12 (1993), and "The
    generation of binomial random variates", Journal of Statistical Computation and Simulation 46
    (1993). The squeezes, which change no number, are left out.
    """
    above = x0 > LOW31
    m = where(above, x0, ~x0) & LOW31
    u = (astype(m, F32) + HALF) * STEP32
    nearest = (astype(m ^ LOW31, F32) + HALF) * STEP32  # to an end of the range of u
    u = where(above, u, -u)
    offset = floor((2 * a / nearest + b) * u + frac + centre)
    return offset, a / (nearest * nearest) + b, _exponential((x1, 0), F32)


def poisson_constants(mean: Array) -> tuple[Array, Array, Array]:
    """Return Hörmann's constants b, a and 1/alpha."""
    b = 0.931 + 2.53 * root(mean)
    return b, 0.02483 * b - 0.059, 1.1239 + 1.1328 / (b - 3.4)


def poisson_probability(count: Array, mean: Array, difference: Array) -> tuple[Array, Array]:
    """Return f and e where the probability of a count is ``exp(e) / sqrt(f)``."""
    factor = where(count < HALF, 1.0, 2 * pi * count)
    return factor, -_remainder(count) - _deviance(count, mean, difference)


def _poisson(
    x0: Array, x1: Array, base: Array, frac: Array, mean: Array, b: Array, a: Array, scale: Array
) -> tuple[Array, Array]:
    offset, envelope, exponential = _candidate(x0, x1, b, a, frac, 0.43)
    k = base + offset
    possible = k >= 0
    count = maximum(k, 0.0)
    q = scale / envelope
    factor, exponent = poisson_probability(count, mean, where(possible, offset - frac, 0.0))
    return offset, possible & (HALF * log(factor * q * q) - exponential <= exponent)


def binomial_constants(p: Array, mean: Array) -> tuple[Array, Array, Array]:
    """Return Hörmann's constants b, a and alpha / sigma, this one for an envelope of any mode."""
    b = 1.15 + 2.53 * root(mean * (1 - p))
    return b, 0.0248 * b - 0.0873 + 0.01 * p, (2.83 + 5.1 / b) * 1.01


def binomial_probability(
    count: Array, n: Array, p: Array, mean: Array, difference: Array
) -> tuple[Array, Array]:
    """Return f and e where the probability of a count is ``exp(e) / sqrt(2 * pi * f)``."""
    others = n - count
    inner = (count > HALF) & (others > HALF)  # at the ends the probability is exp(e)
    factor = where(inner, count * (others / n), 1 / (2 * pi))
    exponent = (
        _remainder(n) - _remainder(count) - _remainder(others)
        - _deviance(count, mean, difference) - _deviance(others, n * (1 - p), -difference)
    )  # fmt: skip
    return factor, exponent


def _binomial(
    x0: Array, x1: Array, base: Array, frac: Array, mean: Array, b: Array, a: Array, scale: Array,
    n: Array, p: Array,
) -> tuple[Array, Array]:  # fmt: skip
    offset, envelope, exponential = _candidate(x0, x1, b, a, frac, 0.5)
    k = base + offset
    possible = (k >= 0) & (k <= n)
    count = minimum(maximum(k, 0.0), n)
    q = scale / envelope
    factor, exponent = binomial_probability(count, n, p, mean, where(possible, offset - frac, 0.0))
    return offset, possible & (HALF * log(factor * q * q) - exponential <= exponent)


POISSON = repeating.accepting(_poisson, 24, 1)
BINOMIAL = repeating.accepting(_binomial, 24, 1)


# --- counts of small means ----------------------------------------------------------------------


def _arrivals(
    words: tuple[Array, ...], state: tuple[Array, ...], limit: Array, rate: Array, geometric: Array
) -> tuple[tuple[Array, ...], Array]:
    """Count arrivals until a time: exponential gaps for Poisson, geometric ones for binomial.

    The multiplication method of D. E. Knuth, "The Art of Computer Programming" 2, 3.4.1, with sums
    of exponential numbers, and L. Devroye's "second waiting time", "Non-Uniform Random Variate
    Generation" (1986), X.4.3.
    """
    count, time = state
    first, second = (_exponential((x, 0), F32) / rate for x in words)
    for attempt in range(first.shape[0]):
        for gaps in (first, second):
            gap = gaps[attempt, ...]
            time = time + where(geometric, floor(gap) + 1, gap)
            count = where(time <= limit, count + 1, count)
    return (count, time), time > limit


ARRIVALS = repeating.Law(_arrivals, 24, 1)
