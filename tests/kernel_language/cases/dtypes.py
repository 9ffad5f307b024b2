"""The same kernels on arrays of every dtype."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from cases.case import Case

import portarray.kernel_language as kl


def copy(y, x):
    i = kl.index()
    y[i] = x[i]


def add(y, x, z):
    i = kl.index()
    y[i] = x[i] + z[i]


def multiply(y, x, z):
    i = kl.index()
    y[i] = x[i] * z[i]


def divide(y, x, z):
    i = kl.index()
    y[i] = x[i] / z[i]


def square_root(y, x):
    i = kl.index()
    y[i] = x[i] ** 0.5


def add_one(y, x):
    i = kl.index()
    y[i] = x[i] + 1


def compare(less, same, x, z):
    i = kl.index()
    less[i] = x[i] < z[i]
    same[i] = x[i] == z[i]


def largest(y, x):
    i = kl.index()
    best = x[i, 0]
    for k in range(1, x.shape[1]):
        best = max(best, x[i, k])
    y[i] = best


def logic(y, x, z):
    i = kl.index()
    y[i] = (x[i] and not z[i]) or (z[i] and not x[i])


def masked(y, x, mask):
    i = kl.index()
    if mask[i]:
        y[i] = x[i]


def gather(y, x, places):
    i = kl.index()
    y[i] = x[places[i]]


BFLOAT16 = ml_dtypes.bfloat16
FLOATS = (np.float16, BFLOAT16, np.float32, np.float64)
INTEGERS = (
    *(np.int8, np.int16, np.int32, np.int64),
    *(np.uint8, np.uint16, np.uint32, np.uint64),
)
EVERY = (*FLOATS, *INTEGERS, np.bool_)


def drawn(rng, dtype, *shape):
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    if dtype in FLOATS:
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 12, shape).astype(dtype)


def in_wide(function):
    """Compute in float64 and round once, which is exact for one operation on shorter floats."""

    def expected(y, *arguments):
        if y.dtype == np.float64 or y.dtype.kind in "iu":
            return (function(*arguments).astype(y.dtype),)
        return (function(*(x.astype(np.float64) for x in arguments)).astype(y.dtype),)

    return expected


def _cases(kernel, make, expected, dtypes, **options):
    return [
        Case(
            kernel,
            lambda rng, dtype=dtype: make(rng, dtype),
            expected,
            variant=np.dtype(dtype).name,
            **options,
        )
        for dtype in dtypes
    ]


def element(rng, dtype):
    return np.zeros(70, dtype), drawn(rng, dtype, 70)


def two(rng, dtype):
    return np.zeros(70, dtype), drawn(rng, dtype, 70), drawn(rng, dtype, 70)


CASES = [
    *_cases(copy, element, lambda y, x: (x,), EVERY),
    *_cases(add, two, in_wide(np.add), (*FLOATS, *INTEGERS)),
    *_cases(multiply, two, in_wide(np.multiply), (*FLOATS, *INTEGERS)),
    *_cases(divide, two, in_wide(np.divide), FLOATS),
    *_cases(
        square_root,
        lambda rng, dtype: (np.zeros(70, dtype), abs(drawn(rng, dtype, 70))),
        in_wide(np.sqrt),
        (np.float32, np.float64),
        tolerance=1e-6,
    ),
    *_cases(add_one, element, in_wide(lambda x: x + 1), (*FLOATS, *INTEGERS)),
    *_cases(
        compare,
        lambda rng, dtype: (
            np.zeros(70, np.bool_),
            np.zeros(70, np.bool_),
            drawn(rng, dtype, 70),
            drawn(rng, dtype, 70),
        ),
        lambda less, same, x, z: (x < z, x == z),
        (*FLOATS, *INTEGERS),
    ),
    *_cases(
        largest,
        lambda rng, dtype: (np.zeros(20, dtype), drawn(rng, dtype, 20, 7)),
        lambda y, x: (np.sort(x, axis=1)[:, -1],),
        (*FLOATS, *INTEGERS),
    ),
    *_cases(logic, two, lambda y, x, z: (x != z,), (np.bool_,)),
    *_cases(
        masked,
        lambda rng, dtype: (*two(rng, dtype)[:2], rng.random(70) < 0.3),
        lambda y, x, mask: (np.where(mask, x, y),),
        EVERY,
    ),
    *(
        Case(
            gather,
            lambda rng, dtype=dtype: (
                np.zeros(90, np.float32),
                drawn(rng, np.float32, 40),
                rng.integers(0, 40, 90).astype(dtype),
            ),
            lambda y, x, places: (x[places],),
            variant=f"by-{np.dtype(dtype).name}",
        )
        for dtype in INTEGERS
    ),
]
