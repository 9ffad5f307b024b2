"""Casts, Python's conversions, and what is stored in an array of another dtype."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from cases.case import Case

import portarray as pa
import portarray.kernel_language as kl


def to_float32(y, x):
    i = kl.index()
    y[i] = kl.float32(x[i])


def to_float64(y, x):
    i = kl.index()
    y[i] = kl.float64(x[i])


def to_float16(y, x):
    i = kl.index()
    y[i] = kl.float16(x[i])


def to_bfloat16(y, x):
    i = kl.index()
    y[i] = kl.bfloat16(x[i])


def to_int8(y, x):
    i = kl.index()
    y[i] = kl.int8(x[i])


def to_int32(y, x):
    i = kl.index()
    y[i] = kl.int32(x[i])


def to_int64(y, x):
    i = kl.index()
    y[i] = kl.int64(x[i])


def to_uint8(y, x):
    i = kl.index()
    y[i] = kl.uint8(x[i])


def to_uint32(y, x):
    i = kl.index()
    y[i] = kl.uint32(x[i])


def to_bool(y, x):
    i = kl.index()
    y[i] = kl.bool(x[i])


def by_names_of_portarray(y, z, x):
    i = kl.index()
    y[i] = pa.int32(x[i])
    z[i] = pa.float32(pa.int32(x[i]))


def to_dtype_of_an_array(y, x):
    i = kl.index()
    wide = kl.private(1, y.dtype)
    wide[0] = x[i]
    y[i] = wide[0] + 1


def by_builtins(y, z, w, x):
    i = kl.index()
    y[i] = int(x[i]) * 2
    z[i] = float(int(x[i])) / 2.0
    w[i] = bool(int(x[i]))


def rounded(y, x):
    i = kl.index()
    y[i] = kl.int32(round(x[i]))


def quotient_of_integers(y, x, z):
    i = kl.index()
    y[i] = kl.float32(x[i] / z[i])


def integers_with_floats(y, x, n):
    i = kl.index()
    y[i] = x[i] * n[i] + n[i]


def weak_literals(y, x):
    i = kl.index()
    y[i] = (x[i] + 1) * 2.5 - i


def weak_local(y, x):
    i = kl.index()
    total = 0.0
    scale = 2
    for k in range(x.shape[1]):
        total += x[i, k] * scale
    y[i] = total


def counter_as_float(y):
    i = kl.index()
    y[i] = kl.float32(i) * 0.1 + kl.float32(i // 3)


def truncated(y, x):
    i = kl.index()
    y[i] = kl.int32(x[i] * 10.0) - kl.int32(-x[i])


def sums_of_half(y, x):
    i = kl.index()
    total = kl.float32(0)
    for k in range(x.shape[1]):
        total += kl.float32(x[i, k])
    y[i] = kl.float16(total)


def bytes_of_words(y, x):
    i = kl.index()
    y[i] = kl.uint8(x[i // 4] >> kl.uint32(8 * (i % 4)))


def bits_as_numbers(half, single, integers, x):
    """Bits as floats of two sizes and back, and a product that is rounded with the sum."""
    i = kl.index()
    half[i] = kl.bitcast(x[i], kl.float16)
    single[i] = kl.fma(kl.float32(half[i]), kl.float32(1.25), kl.bitcast(integers[i], kl.float32))
    integers[i] = kl.bitcast(-kl.bitcast(integers[i], kl.float32), kl.uint32) + kl.uint32(
        kl.bitcast(kl.float16(half[i]), kl.uint16)
    )


def _bits_as_numbers(half, single, integers, x):
    halves, singles = x.view(np.float16), integers.view(np.float32)
    total = halves.astype(np.float64) * 1.25 + singles.astype(np.float64)
    return halves, total.astype(np.float32), (-singles).view(np.uint32) + x.astype(np.uint32)


def words_of_bytes(y, x):
    i = kl.index()
    word = kl.uint32(0)
    for k in kl.unroll(range(4)):
        word |= kl.uint32(x[4 * i + k]) << (8 * k)
    y[i] = word


BFLOAT16 = ml_dtypes.bfloat16
CASTS = {
    np.float32: to_float32,
    np.float64: to_float64,
    np.float16: to_float16,
    BFLOAT16: to_bfloat16,
    np.int8: to_int8,
    np.int32: to_int32,
    np.int64: to_int64,
    np.uint8: to_uint8,
    np.uint32: to_uint32,
    np.bool_: to_bool,
}
FLOATS = (np.float16, BFLOAT16, np.float32, np.float64)
INTEGERS = (np.int8, np.uint8, np.int32, np.uint32, np.int64)


def drawn(rng, source, target):
    """Draw values of a dtype that the other one can hold after truncation or wrapping."""
    if source == np.bool_:
        return rng.random(40) < 0.5
    if source in FLOATS:
        low, high = (0, 200) if target in (np.uint8, np.uint32) else (-120, 120)
        values = rng.uniform(low, high, 40)
        values[:3] = 0
        return values.astype(source)
    limits = np.iinfo(source)
    return rng.integers(limits.min, limits.max, 40, dtype=source, endpoint=True)


def of_x(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def small(rng, *shape):
    return rng.integers(-50, 50, shape).astype(np.int32)


def _weak_local(y, x):
    total = np.zeros_like(y)
    for column in x.T:
        total = total + column * np.float32(2)
    return (total,)


CASES = [
    *(
        Case(
            kernel,
            lambda rng, source=source, target=target: (
                np.zeros(40, target),
                drawn(rng, source, target),
            ),
            lambda y, x: (x.astype(y.dtype),),
            variant=np.dtype(source).name,
        )
        for target, kernel in CASTS.items()
        for source in (*FLOATS, *INTEGERS, np.bool_)
        # From large integers to 16 bits NumPy rounds twice, by way of float64 or float32.
        if target not in (np.float16, BFLOAT16) or source not in (np.int32, np.uint32, np.int64)
    ),
    Case(
        by_names_of_portarray,
        lambda rng: (np.zeros(50, np.int32), np.zeros(50, np.float32), of_x(rng, 50) * 9),
        lambda y, z, x: (np.trunc(x).astype(np.int32), np.trunc(x)),
    ),
    *(
        Case(
            to_dtype_of_an_array,
            lambda rng, dtype=dtype: (np.zeros(50, dtype), small(rng, 50).astype(dtype)),
            lambda y, x: (x + np.ones((), y.dtype),),
            variant=np.dtype(dtype).name,
        )
        for dtype in (np.int16, np.int64, np.float32, np.float64)
    ),
    Case(
        by_builtins,
        lambda rng: (
            np.zeros(50, np.int32),
            np.zeros(50, np.float32),
            np.zeros(50, np.bool_),
            of_x(rng, 50) * 5,
        ),
        lambda y, z, w, x: (np.trunc(x).astype(np.int32) * 2, np.trunc(x) / 2, abs(x) >= 1),
    ),
    Case(
        rounded,
        lambda rng: (np.zeros(41, np.int32), np.arange(-5, 5.25, 0.25).astype(np.float32)),
        lambda y, x: (np.rint(x).astype(np.int32),),
    ),
    Case(
        quotient_of_integers,
        lambda rng: (
            np.zeros(60, np.float32),
            small(rng, 60),
            rng.choice([-8, -4, -2, -1, 1, 2, 4, 8], 60).astype(np.int32),
        ),
        lambda y, x, z: (x.astype(np.float32) / z.astype(np.float32),),
    ),
    Case(
        integers_with_floats,
        lambda rng: (
            np.zeros(60, np.float32),
            (small(rng, 60) / 4).astype(np.float32),
            small(rng, 60),
        ),
        lambda y, x, n: (x * n.astype(np.float32) + n.astype(np.float32),),
    ),
    *(
        Case(
            weak_literals,
            lambda rng, dtype=dtype: (np.zeros(60, dtype), small(rng, 60).astype(dtype)),
            lambda y, x: (((x + 1) * 5 / 2 - np.arange(60)).astype(y.dtype),),
            variant=np.dtype(dtype).name,
        )
        for dtype in (np.float16, np.float32, np.float64)
    ),
    Case(
        weak_local,
        lambda rng: (np.zeros(20, np.float32), of_x(rng, 20, 9)),
        _weak_local,
    ),
    Case(
        counter_as_float,
        lambda rng: (np.zeros(90, np.float32),),
        lambda y: (
            np.arange(90, dtype=np.float32) * np.float32(0.1)
            + np.repeat(np.arange(30, dtype=np.float32), 3),
        ),
    ),
    Case(
        truncated,
        lambda rng: (np.zeros(60, np.int32), of_x(rng, 60) * 9),
        lambda y, x: ((np.trunc(x * np.float32(10)) + np.trunc(x)).astype(np.int32),),
    ),
    Case(
        sums_of_half,
        lambda rng: (np.zeros(20, np.float16), (small(rng, 20, 40) / 8).astype(np.float16)),
        lambda y, x: (x.astype(np.float64).sum(axis=1).astype(np.float16),),
    ),
    Case(
        bytes_of_words,
        lambda rng: (
            np.zeros(80, np.uint8),
            rng.integers(0, 2**32, 20, dtype=np.uint32),
        ),
        lambda y, x: (x.astype("<u4").view(np.uint8),),
    ),
    Case(
        words_of_bytes,
        lambda rng: (np.zeros(20, np.uint32), rng.integers(0, 256, 80).astype(np.uint8)),
        lambda y, x: (x.view("<u4").astype(np.uint32),),
    ),
    Case(
        bits_as_numbers,
        lambda rng: (
            np.zeros(60, np.float16),
            np.zeros(60, np.float32),
            rng.standard_normal(60).astype(np.float32).view(np.uint32),
            rng.standard_normal(60).astype(np.float16).view(np.uint16),
        ),
        _bits_as_numbers,
    ),
]
