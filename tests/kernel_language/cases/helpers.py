"""Helper functions, constants from around the kernel, and static arguments."""

from __future__ import annotations

import math

import numpy as np
from cases.case import Case

import portarray as pa
import portarray.kernel_language as kl

SCALE = 3
WEIGHTS = (0.25, 0.5, 0.25)
SHIFTS = (-1, 1, 0, 0)
COLUMNS = (0, 0, -1, 1)
KIND = np.dtype(np.float32)
LIMIT = 4.0
LOUD = False


@pa.kernel.function
def square(x):
    return x * x


@pa.kernel.function
def fourth_power(x):
    return square(square(x))


@pa.kernel.function
def clamped(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@pa.kernel.function
def first_above(x, row, limit):
    """Return the first column whose value is above a limit, or -1."""
    for k in range(x.shape[1]):
        if x[row, k] > limit:
            return k
    return -1


@pa.kernel.function
def hashed(value):
    value = (value ^ (value >> 16)) * 0x7FEB352D
    value = (value ^ (value >> 15)) * 0x846CA68B
    return value ^ (value >> 16)


@pa.kernel.function
def sum_and_difference(a, b):
    return a + b, a - b


@pa.kernel.function
def scaled(x):
    return x * SCALE


@pa.kernel.function
def neighbour():
    return kl.index() + 1


def calls_a_helper(y, x):
    i = kl.index()
    y[i] = square(x[i]) + square(2)


def calls_through_another(y, x):
    i = kl.index()
    y[i] = fourth_power(x[i])


def helper_of_two_types(y, z, x, n):
    i = kl.index()
    y[i] = square(x[i])
    z[i] = square(n[i])


def returns_early(y, x):
    i = kl.index()
    y[i] = clamped(x[i], -1.0, 1.0)


def helper_with_array(y, x, limit):
    i = kl.index()
    y[i] = first_above(x, i, limit)


def helper_of_unsigned(y):
    i = kl.index()
    y[i] = hashed(hashed(kl.uint32(i)) + 0x9E3779B9)


def helper_with_two_results(y, z, x):
    i = kl.index()
    y[i], z[i] = sum_and_difference(x[i], 0.5)


def helper_in_condition(y, x):
    i = kl.index()
    n = 0
    while square(n) < x[i] and n < 50:
        n += 1
    y[i] = clamped(n, 2, 8) if square(n) != 25 else -square(n)


def helper_with_index(y, x):
    i = kl.index()
    if neighbour() < x.shape[0]:
        y[i] = x[neighbour()]


def global_constants(y, x):
    i = kl.index()
    total = kl.float32(0)
    if not LOUD:
        for k in kl.unroll(range(3)):
            total += WEIGHTS[k] * x[i + k]
    y[i] = scaled(total) + math.floor(LIMIT)


def global_tables(y, x):
    i, j = kl.index()
    total = x[i + 1, j + 1] * -4
    for k in kl.unroll(range(4)):
        total += x[i + 1 + SHIFTS[k], j + 1 + COLUMNS[k]]
    y[i, j] = total


def global_dtype(y, x):
    i = kl.index()
    row = kl.private(2, KIND)
    row[0] = kl.float32(x[i])
    row[1] = 0.5
    y[i] = row[0] * row[1]


def made_with(factor, offset):
    """Return a kernel that closes over two numbers."""

    def close_over(y, x):
        i = kl.index()
        y[i] = x[i] * factor + offset

    return close_over


def made_with_helper(helper):
    """Return a kernel that closes over a helper."""

    def close_over_helper(y, x):
        i = kl.index()
        y[i] = helper(x[i]) + 1

    return close_over_helper


def static_count(y, x, n):
    i = kl.index()
    total = 0
    for k in kl.unroll(range(n)):
        total += x[i + k]
    y[i] = total


def static_tuple(y, x, taps):
    i = kl.index()
    total = 0
    for k in kl.unroll(range(len(taps))):
        total += x[i + k] * taps[k]
    y[i] = total


def static_flag(y, x, negative):
    i = kl.index()
    if negative:
        y[i] = -x[i]
    else:
        y[i] = x[i]


def static_dtype(y, x, dtype):
    i = kl.index()
    buffer = kl.private(2, dtype)
    buffer[0] = x[i]
    buffer[1] = buffer[0] * buffer[0]
    y[i] = buffer[1] + buffer[0]


def static_text(y, x, edge):
    i = kl.index()
    n = x.shape[0]
    if edge == "wrap":
        y[i] = x[(i + 1) % n]
    elif edge == "clamp":
        y[i] = x[min(i + 1, n - 1)]
    else:
        y[i] = x[i + 1] if i + 1 < n else 0


def static_shape(y, x, shape):
    i = kl.index()
    rows, columns = shape
    y[i] = x[i % columns * rows + i // columns]


def of_x(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def small(rng, *shape):
    return rng.integers(-50, 50, shape).astype(np.int32)


def _hashed(y):
    def once(v):
        v = (v ^ (v >> 16)) * 0x7FEB352D % 2**32
        v = (v ^ (v >> 15)) * 0x846CA68B % 2**32
        return v ^ (v >> 16)

    return (np.array([once((once(i) + 0x9E3779B9) % 2**32) for i in range(y.size)], np.uint32),)


def _condition(y, x):
    root = np.minimum(np.ceil(np.sqrt(np.maximum(x, 0))), 50)
    return (np.where(root == 5, -25, np.clip(root, 2, 8)).astype(np.int32),)


def _taps(y, x, taps):
    return (np.correlate(x, taps, "valid").astype(np.int32),)


def _weights(y, x):
    total = np.float32(0.25) * x[:-2] + np.float32(0.5) * x[1:-1] + np.float32(0.25) * x[2:]
    return (total * 3 + 4,)


def _laplace(y, x):
    return (x[1:-1, 1:-1] * -4 + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:],)


EDGES = {
    "wrap": lambda x: np.roll(x, -1),
    "clamp": lambda x: np.append(x[1:], x[-1:]),
    "zero": lambda x: np.append(x[1:], np.int32(0)),
}

CASES = [
    Case(
        calls_a_helper,
        lambda rng: (np.zeros(50, np.float32), of_x(rng, 50)),
        lambda y, x: (x * x + 4,),
    ),
    Case(
        calls_through_another,
        lambda rng: (np.zeros(50, np.float32), of_x(rng, 50)),
        lambda y, x: ((x * x) * (x * x),),
    ),
    Case(
        helper_of_two_types,
        lambda rng: (
            np.zeros(50, np.float32),
            np.zeros(50, np.int64),
            of_x(rng, 50),
            rng.integers(0, 2**31, 50),
        ),
        lambda y, z, x, n: (x * x, n * n),
    ),
    Case(
        returns_early,
        lambda rng: (np.zeros(50, np.float32), of_x(rng, 50)),
        lambda y, x: (np.clip(x, -1, 1),),
    ),
    Case(
        helper_with_array,
        lambda rng: (np.zeros(50, np.int32), of_x(rng, 50, 4), 0.75),
        lambda y, x, limit: (
            np.where((x > limit).any(axis=1), (x > limit).argmax(axis=1), -1).astype(np.int32),
        ),
    ),
    Case(helper_of_unsigned, lambda rng: (np.zeros(100, np.uint32),), _hashed),
    Case(
        helper_with_two_results,
        lambda rng: (np.zeros(50, np.float32), np.zeros(50, np.float32), of_x(rng, 50)),
        lambda y, z, x: (x + np.float32(0.5), x - np.float32(0.5)),
    ),
    Case(
        helper_in_condition,
        lambda rng: (np.zeros(90, np.int32), small(rng, 90)),
        _condition,
    ),
    Case(
        helper_with_index,
        lambda rng: (np.zeros(30, np.float32), of_x(rng, 30)),
        lambda y, x: (np.append(x[1:], np.float32(0)),),
    ),
    Case(
        global_constants,
        lambda rng: (np.zeros(50, np.float32), of_x(rng, 52)),
        _weights,
    ),
    Case(
        global_tables,
        lambda rng: (np.zeros((6, 7), np.int32), small(rng, 8, 9)),
        _laplace,
    ),
    Case(
        global_dtype,
        lambda rng: (np.zeros(30, np.float32), small(rng, 30)),
        lambda y, x: (x.astype(np.float32) / 2,),
    ),
    *(
        Case(
            made_with(factor, offset),
            lambda rng: (np.zeros(30, np.float32), of_x(rng, 30)),
            lambda y, x, factor=factor, offset=offset: (
                x * np.float32(factor) + np.float32(offset),
            ),
            variant=f"{factor}-{offset}",
        )
        for factor, offset in ((2, 0.5), (-1.5, 7))
    ),
    *(
        Case(
            made_with_helper(helper),
            lambda rng: (np.zeros(30, np.int32), small(rng, 30)),
            lambda y, x, expected=expected: (expected(x) + 1,),
            variant=helper.__name__,
        )
        for helper, expected in ((square, lambda x: x**2), (scaled, lambda x: x + x + x))
    ),
    *(
        Case(
            static_count,
            lambda rng, n=n: (np.zeros(20, np.int32), small(rng, 30), n),
            lambda y, x, n: (
                np.sum([x[k : k + 20] for k in range(n)] + [y], axis=0, dtype=np.int32),
            ),
            static=("n",),
            variant=str(n),
        )
        for n in (0, 1, 5)
    ),
    *(
        Case(
            static_tuple,
            lambda rng, taps=taps: (np.zeros(20, np.int32), small(rng, 19 + len(taps)), taps),
            _taps,
            variant=str(len(taps)),
        )
        for taps in ((1,), (1, -2, 1), (3, 1, -4, 1, -5))
    ),
    *(
        Case(
            static_flag,
            lambda rng, flag=flag: (np.zeros(20, np.int32), small(rng, 20), flag),
            lambda y, x, flag: (x * (1 - 2 * flag),),
            static=("negative",),
            variant=str(flag),
        )
        for flag in (False, True)
    ),
    *(
        Case(
            static_dtype,
            lambda rng, dtype=dtype: (
                np.zeros(20, dtype),
                small(rng, 20).astype(dtype),
                np.dtype(dtype),
            ),
            lambda y, x, dtype: ((x.astype(np.int64) ** 2 + x).astype(dtype),),
            variant=dtype.__name__,
        )
        for dtype in (np.int8, np.int32, np.float32)
    ),
    *(
        Case(
            static_text,
            lambda rng, edge=edge: (np.zeros(20, np.int32), small(rng, 20), edge),
            lambda y, x, edge: (EDGES[edge](x),),
            variant=edge,
        )
        for edge in EDGES
    ),
    Case(
        static_shape,
        lambda rng: (np.zeros(28, np.float32), of_x(rng, 28), (4, 7)),
        lambda y, x, shape: (x.reshape(7, 4).T.reshape(-1),),
    ),
]
