"""``math.*`` and the elementwise names of the standard."""

from __future__ import annotations

import math

import numpy as np
from cases.case import Case
from scipy import special

import portarray as pa
import portarray.kernel_language as kl


def trigonometry(y, x):
    i, j = kl.index()
    v = x[j]
    if i == 0:
        y[i, j] = math.sin(v)
    elif i == 1:
        y[i, j] = math.cos(v)
    elif i == 2:
        y[i, j] = math.tan(v)
    elif i == 3:
        y[i, j] = math.asin(v)
    elif i == 4:
        y[i, j] = math.acos(v)
    elif i == 5:
        y[i, j] = math.atan(v)
    elif i == 6:
        y[i, j] = math.sinh(v)
    elif i == 7:
        y[i, j] = math.cosh(v)
    elif i == 8:
        y[i, j] = math.tanh(v)
    elif i == 9:
        y[i, j] = math.asinh(v)
    elif i == 10:
        y[i, j] = math.acosh(v + 2.0)
    else:
        y[i, j] = math.atanh(v)


def exponentials(y, x):
    i, j = kl.index()
    v = x[j]
    if i == 0:
        y[i, j] = math.exp(v)
    elif i == 1:
        y[i, j] = math.expm1(v)
    elif i == 2:
        y[i, j] = math.log(v)
    elif i == 3:
        y[i, j] = math.log1p(v)
    elif i == 4:
        y[i, j] = math.log2(v)
    elif i == 5:
        y[i, j] = math.log10(v)
    elif i == 6:
        y[i, j] = math.pow(v, 1.5)
    else:
        y[i, j] = v**-0.75


def of_two(y, x, z):
    i, j = kl.index()
    if i == 0:
        y[i, j] = math.atan2(x[j], z[j])
    elif i == 1:
        y[i, j] = math.hypot(x[j], z[j])
    elif i == 2:
        y[i, j] = math.copysign(x[j], z[j])
    else:
        y[i, j] = math.fmod(x[j], z[j])


def error_and_gamma(y, x):
    i, j = kl.index()
    if i == 0:
        y[i, j] = math.erf(x[j])
    elif i == 1:
        y[i, j] = math.erfc(x[j])
    elif i == 2:
        y[i, j] = math.gamma(x[j])
    else:
        y[i, j] = math.lgamma(x[j])


def exact(y, x):
    i, j = kl.index()
    v = x[j]
    if i == 0:
        y[i, j] = math.sqrt(abs(v))
    elif i == 1:
        y[i, j] = math.fabs(v)
    elif i == 2:
        y[i, j] = pa.floor(v)
    elif i == 3:
        y[i, j] = pa.ceil(v)
    elif i == 4:
        y[i, j] = pa.trunc(v)
    elif i == 5:
        y[i, j] = pa.round(v)
    elif i == 6:
        y[i, j] = pa.sign(v)
    else:
        y[i, j] = pa.square(v) + pa.negative(v) - pa.positive(v)


def to_integers(y, x):
    i, j = kl.index()
    if i == 0:
        y[i, j] = math.floor(x[j])
    elif i == 1:
        y[i, j] = math.ceil(x[j])
    else:
        y[i, j] = math.trunc(x[j])


def degrees_and_radians(y, z, x):
    i = kl.index()
    y[i] = math.degrees(x[i])
    z[i] = math.radians(x[i])


def constants(y):
    i = kl.index()
    y[i] = math.pi if i == 0 else math.e if i == 1 else math.tau if i == 2 else math.inf


def which_are_finite(y, x):
    i, j = kl.index()
    v = x[j]
    if i == 0:
        y[i, j] = math.isnan(v)
    elif i == 1:
        y[i, j] = math.isinf(v)
    elif i == 2:
        y[i, j] = math.isfinite(v)
    elif i == 3:
        y[i, j] = pa.isnan(v) or pa.isinf(v)
    elif i == 4:
        y[i, j] = pa.isfinite(v) and not pa.signbit(v)
    elif i == 5:
        y[i, j] = v == v
    elif i == 6:
        y[i, j] = v < math.inf
    else:
        y[i, j] = not v >= 0.0


def names_of_the_standard(y, x, z):
    i, j = kl.index()
    if i == 0:
        y[i, j] = pa.sin(x[j]) * pa.cos(z[j])
    elif i == 1:
        y[i, j] = pa.exp(-pa.abs(x[j]))
    elif i == 2:
        y[i, j] = pa.atan2(x[j], z[j])
    elif i == 3:
        y[i, j] = pa.logaddexp(x[j], z[j])
    elif i == 4:
        y[i, j] = pa.tanh(x[j]) + pa.log1p(pa.square(z[j]))
    elif i == 5:
        y[i, j] = pa.hypot(x[j], z[j])
    else:
        y[i, j] = pa.pow(pa.abs(x[j]), z[j])


def choices(y, x, z):
    i, j = kl.index()
    if i == 0:
        y[i, j] = pa.where(x[j] > z[j], x[j], -z[j])
    elif i == 1:
        y[i, j] = pa.maximum(x[j], z[j])
    elif i == 2:
        y[i, j] = pa.minimum(x[j], z[j])
    elif i == 3:
        y[i, j] = pa.add(x[j], pa.multiply(z[j], 2.0))
    elif i == 4:
        y[i, j] = pa.clip(x[j], -0.5, 0.5)
    elif i == 5:
        y[i, j] = pa.copysign(x[j], z[j])
    elif i == 6:
        y[i, j] = pa.subtract(x[j], z[j])
    else:
        y[i, j] = pa.reciprocal(pa.sign(x[j])) - pa.divide(z[j], 2.0)


def nan_in_minimum(y, x, z):
    i = kl.index()
    y[i] = pa.maximum(x[i], z[i]) + pa.minimum(x[i], z[i])


def sigmoid_of_halves(y, x):
    i = kl.index()
    y[i] = 1.0 / (1.0 + math.exp(-x[i]))


FLOATS = (np.float32, np.float64)
SPECIALS = [0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 3e38, -1e-30]


def near(dtype):
    return {np.float16: 4e-3, np.float32: 2e-6, np.float64: 1e-14}[dtype]


def inside(rng, dtype, low=-0.95, high=0.95, n=64):
    return rng.uniform(low, high, n).astype(dtype)


def _rows(*functions):
    def rows(y, x, *others):
        wide = [v.astype(np.float64) for v in (x, *others)]
        return (np.stack([f(*wide) for f in functions]).astype(y.dtype),)

    return rows


def _exact(y, x):
    signs = np.where(x == 0, 0, np.copysign(1, x))
    return (
        np.stack(
            [
                np.sqrt(np.abs(x)),
                np.abs(x),
                np.floor(x),
                np.ceil(x),
                np.trunc(x),
                np.rint(x),
                signs,
                x * x - x - x,
            ]
        ).astype(y.dtype),
    )


def _kinds(y, x):
    nan, inf = x != x, abs(x) == np.inf
    finite = ~(nan | inf)
    rows = nan, inf, finite, ~finite, finite & ~np.signbit(x), ~nan, ~nan & (x != np.inf)
    return (np.stack([*rows, nan | (x < 0)]),)


def _choices(y, x, z):
    rows = (
        np.where(x > z, x, -z),
        np.where(x > z, x, z),
        np.where(x > z, z, x),
        x + 2 * z,
        np.sort([x, np.full_like(x, -0.5), np.full_like(x, 0.5)], axis=0)[1],
        np.where(np.signbit(z), -abs(x), abs(x)),
        x - z,
        np.where(x > 0, 1, -1) - z / 2,
    )
    return (np.stack(rows).astype(y.dtype),)


CASES = [
    *(
        Case(
            trigonometry,
            lambda rng, dtype=dtype: (np.zeros((12, 64), dtype), inside(rng, dtype)),
            _rows(
                *(np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh),
                *(np.tanh, np.arcsinh, lambda v: np.arccosh(v + 2), np.arctanh),
            ),
            tolerance=near(dtype),
            variant=dtype.__name__,
        )
        for dtype in FLOATS
    ),
    *(
        Case(
            exponentials,
            lambda rng, dtype=dtype: (np.zeros((8, 64), dtype), inside(rng, dtype, 0.01, 9)),
            _rows(
                *(np.exp, np.expm1, np.log, np.log1p, np.log2, np.log10),
                *(lambda v: v * np.sqrt(v), lambda v: 1 / np.sqrt(v * np.sqrt(v))),
            ),
            tolerance=near(dtype),
            variant=dtype.__name__,
        )
        for dtype in FLOATS
    ),
    *(
        Case(
            of_two,
            lambda rng, dtype=dtype: (
                np.zeros((4, 64), dtype),
                inside(rng, dtype, -9, 9),
                inside(rng, dtype, -9, 9),
            ),
            _rows(
                np.arctan2,
                lambda x, z: np.sqrt(x * x + z * z),
                lambda x, z: np.where(z < 0, -abs(x), abs(x)),
                np.fmod,
            ),
            tolerance=near(dtype),
            variant=dtype.__name__,
        )
        for dtype in FLOATS
    ),
    *(
        Case(
            error_and_gamma,
            lambda rng, dtype=dtype: (np.zeros((4, 64), dtype), inside(rng, dtype, 0.1, 5)),
            _rows(special.erf, special.erfc, special.gamma, special.gammaln),
            tolerance=near(dtype) * 4,
            variant=dtype.__name__,
        )
        for dtype in FLOATS
    ),
    *(
        Case(
            exact,
            lambda rng, dtype=dtype: (
                np.zeros((8, 64), dtype),
                np.concatenate(
                    (np.array([0, 0.5, 1.5, 2.5, -0.5, -1.5], dtype), inside(rng, dtype, -9, 9, 58))
                ),
            ),
            _exact,
            variant=dtype.__name__,
        )
        for dtype in FLOATS
    ),
    Case(
        to_integers,
        lambda rng: (np.zeros((3, 64), np.int32), inside(rng, np.float32, -99, 99)),
        lambda y, x: (np.stack([np.floor(x), np.ceil(x), np.trunc(x)]).astype(np.int32),),
    ),
    Case(
        degrees_and_radians,
        lambda rng: (
            np.zeros(64, np.float32),
            np.zeros(64, np.float32),
            inside(rng, np.float32, -9, 9),
        ),
        lambda y, z, x: (np.rad2deg(x), np.deg2rad(x)),
        tolerance=1e-6,
    ),
    Case(
        constants,
        lambda rng: (np.zeros(4, np.float32),),
        lambda y: (np.array([np.pi, np.e, 2 * np.pi, np.inf], np.float32),),
    ),
    Case(
        which_are_finite,
        lambda rng: (np.zeros((8, 9), np.bool_), np.array(SPECIALS, np.float32)),
        _kinds,
    ),
    *(
        Case(
            names_of_the_standard,
            lambda rng, dtype=dtype: (
                np.zeros((7, 64), dtype),
                inside(rng, dtype, -3, 3),
                inside(rng, dtype, -3, 3),
            ),
            _rows(
                lambda x, z: np.sin(x) * np.cos(z),
                lambda x, z: np.exp(-abs(x)),
                np.arctan2,
                lambda x, z: np.log(np.exp(x) + np.exp(z)),
                lambda x, z: np.tanh(x) + np.log(1 + z * z),
                lambda x, z: np.sqrt(x * x + z * z),
                lambda x, z: np.exp(z * np.log(abs(x))),
            ),
            tolerance=near(dtype) * 2,
            variant=dtype.__name__,
        )
        for dtype in FLOATS
    ),
    Case(
        choices,
        lambda rng: (
            np.zeros((8, 64), np.float32),
            inside(rng, np.float32),
            inside(rng, np.float32),
        ),
        _choices,
    ),
    Case(
        nan_in_minimum,
        lambda rng: (
            np.zeros(3, np.float32),
            np.array([np.nan, 1, 2], np.float32),
            np.array([1, np.nan, 3], np.float32),
        ),
        lambda y, x, z: (x + z,),
    ),
    Case(
        sigmoid_of_halves,
        lambda rng: (np.zeros(64, np.float16), inside(rng, np.float16, -4, 4)),
        lambda y, x: ((1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float16),),
        tolerance=near(np.float16),
    ),
]
