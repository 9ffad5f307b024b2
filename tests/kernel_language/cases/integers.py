"""Integers: Python's division, shifts and powers; wrapping as NumPy's."""

from __future__ import annotations

import numpy as np
from cases.case import Case

import portarray.kernel_language as kl


def floor_divide(q, r, x, z):
    i = kl.index()
    q[i] = x[i] // z[i]
    r[i] = x[i] % z[i]


def divide_by_constants(y, x):
    i = kl.index()
    y[i] = x[i] // 3 + x[i] // -3 + x[i] % 7 + x[i] % -7 - 100 // 7 + -100 // 7 + -100 % 7


def powers(y, x):
    i = kl.index()
    y[i] = x[i] ** 3 - x[i] ** 2 + x[i] ** 1 - x[i] ** 0 + 2**10


def power_of_arrays(y, x, n):
    i = kl.index()
    y[i] = x[i] ** n[i]


def shifts(left, right, x, n):
    i = kl.index()
    left[i] = x[i] << n[i]
    right[i] = x[i] >> n[i]


def bits(both, either, exclusive, no, x, z):
    i = kl.index()
    both[i] = x[i] & z[i]
    either[i] = x[i] | z[i]
    exclusive[i] = x[i] ^ z[i]
    no[i] = ~x[i]


def wrap(y, x, z):
    i = kl.index()
    y[i] = x[i] * z[i] + x[i] - z[i]


def average_wraps(y, x, z):
    i = kl.index()
    y[i] = (x[i] + z[i]) // 2


def comparison_after_wrap(y, x):
    i = kl.index()
    y[i] = x[i] + 100 < x[i]


def negated(y, x):
    i = kl.index()
    y[i] = -x[i] + +x[i] - abs(x[i])


def linear_congruence(y, steps):
    i = kl.index()
    state = kl.uint32(i) * 747796405 + 2891336453
    for _ in range(steps):
        state = state * 1664525 + 1013904223
    word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737
    y[i] = (word >> 22) ^ word


def splitmix(y):
    i = kl.index()
    z = (kl.uint64(i) + 1) * kl.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> 30)) * kl.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> 27)) * kl.uint64(0x94D049BB133111EB)
    y[i] = z ^ (z >> 31)


def count_bits(y, x):
    i = kl.index()
    remaining = x[i]
    count = 0
    while remaining != 0:
        remaining &= remaining - 1
        count += 1
    y[i] = count


def greatest_divisor(y, x, z):
    i = kl.index()
    a = x[i]
    b = z[i]
    while b != 0:
        a, b = b, a % b
    y[i] = a


def power_modulo(y, x, exponent, modulus):
    i = kl.index()
    base = x[i] % modulus
    remaining = kl.int64(exponent)
    result = kl.int64(1)
    while remaining > 0:
        if remaining & 1 != 0:
            result = result * base % modulus
        base = base * base % modulus
        remaining >>= 1
    y[i] = result


def collatz(y):
    i = kl.index()
    n = kl.int64(i + 1)
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    y[i] = steps


def smallest_and_largest(low, high, x, z, w):
    i = kl.index()
    low[i] = min(x[i], z[i], w[i])
    high[i] = max(x[i], z[i], w[i])


def mixed_widths(y, x, z):
    i = kl.index()
    y[i] = x[i] * 1000 + z[i]


def sign_and_unsigned(y, x, z):
    i = kl.index()
    y[i] = x[i] - z[i]


def large_products(y, x):
    i = kl.index()
    y[i] = x[i] * 3000000019 - (x[i] << 20)


def large_counter(y):
    i = kl.index()
    total = 0
    for k in range(3_000_000_000, 3_000_000_010):
        total += k - i
    y[i] = total


def float_floor(q, r, x, z):
    i = kl.index()
    q[i] = x[i] // z[i]
    r[i] = x[i] % z[i]


SIGNED = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)


def full_range(rng, dtype, n=200):
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)
    values[:4] = limits.min, limits.max, 0, 1
    return values


def divisors(rng, dtype, n=200):
    values = rng.integers(-9 if dtype in SIGNED else 0, 10, n).astype(dtype)
    values[:3] = 1  # not the smallest number by -1
    values[5:9] = 0
    return values


def _divided(q, r, x, z):
    by = np.where(z == 0, 1, z)
    return np.where(z == 0, 0, x // by).astype(x.dtype), np.where(z == 0, 0, x % by).astype(x.dtype)


def _linear(y, steps):
    state = (np.arange(y.size, dtype=np.uint64) * 747796405 + 2891336453) % 2**32
    for _ in range(steps):
        state = (state * 1664525 + 1013904223) % 2**32
    word = ((state >> ((state >> np.uint64(28)) + 4)) ^ state) * 277803737 % 2**32
    return (((word >> np.uint64(22)) ^ word).astype(np.uint32),)


def _splitmix(y):
    results = []
    for i in range(y.size):
        z = (i + 1) * 0x9E3779B97F4A7C15 % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        results.append(z ^ (z >> 31))
    return (np.array(results, np.uint64),)


def _collatz(y):
    def steps(n):
        return 0 if n == 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    return (np.array([steps(i + 1) for i in range(y.size)], y.dtype),)


CASES = [
    *(
        Case(
            floor_divide,
            lambda rng, dtype=dtype: (
                np.zeros(200, dtype),
                np.zeros(200, dtype),
                full_range(rng, dtype),
                divisors(rng, dtype),
            ),
            _divided,
            variant=dtype.__name__,
        )
        for dtype in SIGNED + UNSIGNED
    ),
    Case(
        divide_by_constants,
        lambda rng: (np.zeros(99, np.int32), np.arange(-49, 50, dtype=np.int32)),
        lambda y, x: (x // 3 + x // -3 + x % 7 + x % -7 - 14 - 15 + 5,),
    ),
    Case(
        powers,
        lambda rng: (np.zeros(41, np.int32), np.arange(-20, 21, dtype=np.int32)),
        lambda y, x: (x * x * x - x * x + x + 1023,),
    ),
    Case(
        power_of_arrays,
        lambda rng: (
            np.zeros(60, np.int64),
            rng.integers(-9, 10, 60),
            rng.integers(0, 15, 60),
        ),
        lambda y, x, n: (np.array([int(a) ** int(b) for a, b in zip(x, n, strict=True)]),),
    ),
    *(
        Case(
            shifts,
            lambda rng, dtype=dtype: (
                np.zeros(200, dtype),
                np.zeros(200, dtype),
                full_range(rng, dtype),
                rng.integers(0, np.iinfo(dtype).bits, 200).astype(dtype),
            ),
            lambda left, right, x, n: (x << n, x >> n),
            variant=dtype.__name__,
        )
        for dtype in (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64)
    ),
    *(
        Case(
            bits,
            lambda rng, dtype=dtype: (
                *(np.zeros(200, dtype) for _ in range(4)),
                full_range(rng, dtype),
                full_range(rng, dtype),
            ),
            lambda both, either, exclusive, no, x, z: (x & z, x | z, x ^ z, np.invert(x)),
            variant=dtype.__name__,
        )
        for dtype in (np.uint8, np.int16, np.int32, np.uint64)
    ),
    Case(
        bits,
        lambda rng: (
            *(np.zeros(40, np.bool_) for _ in range(4)),
            rng.random(40) < 0.5,
            rng.random(40) < 0.5,
        ),
        lambda both, either, exclusive, no, x, z: (x & z, x | z, x != z, ~x),
        variant="bool",
    ),
    *(
        Case(
            wrap,
            lambda rng, dtype=dtype: (
                np.zeros(200, dtype),
                full_range(rng, dtype),
                full_range(rng, dtype),
            ),
            lambda y, x, z: (
                np.array(
                    [int(a) * int(b) + int(a) - int(b) for a, b in zip(x, z, strict=True)], object
                )
                .__mod__(2 ** (8 * y.itemsize))
                .astype(f"u{y.itemsize}")
                .view(y.dtype),
            ),
            variant=dtype.__name__,
        )
        for dtype in SIGNED + UNSIGNED
    ),
    *(
        Case(
            average_wraps,
            lambda rng, dtype=dtype: (
                np.zeros(200, dtype),
                full_range(rng, dtype),
                full_range(rng, dtype),
            ),
            lambda y, x, z: ((x + z) // np.array(2, y.dtype),),
            variant=dtype.__name__,
        )
        for dtype in (np.int8, np.uint8, np.int16, np.uint16)
    ),
    Case(
        comparison_after_wrap,
        lambda rng: (np.zeros(256, np.bool_), np.arange(256, dtype=np.uint8)),
        lambda y, x: (x > 155,),
    ),
    *(
        Case(
            negated,
            lambda rng, dtype=dtype: (np.zeros(200, dtype), full_range(rng, dtype)),
            lambda y, x: (-np.abs(x),),
            variant=dtype.__name__,
        )
        for dtype in (np.int8, np.int32, np.int64)
    ),
    Case(linear_congruence, lambda rng: (np.zeros(300, np.uint32), 5), _linear),
    Case(splitmix, lambda rng: (np.zeros(100, np.uint64),), _splitmix),
    *(
        Case(
            count_bits,
            lambda rng, dtype=dtype: (np.zeros(200, np.int32), full_range(rng, dtype)),
            lambda y, x: (np.bitwise_count(x.view(f"u{x.itemsize}")).astype(np.int32),),
            variant=dtype.__name__,
        )
        for dtype in (np.uint8, np.uint32, np.uint64)
    ),
    Case(
        greatest_divisor,
        lambda rng: (
            np.zeros(100, np.int32),
            rng.integers(0, 5000, 100).astype(np.int32),
            rng.integers(0, 5000, 100).astype(np.int32),
        ),
        lambda y, x, z: (np.gcd(x, z),),
    ),
    Case(
        power_modulo,
        lambda rng: (np.zeros(60, np.int64), rng.integers(0, 2**40, 60), 1000003, 998244353),
        lambda y, x, e, m: (np.array([pow(int(a), e, m) for a in x], np.int64),),
    ),
    Case(collatz, lambda rng: (np.zeros(120, np.int32),), _collatz),
    *(
        Case(
            smallest_and_largest,
            lambda rng, dtype=dtype: (
                np.zeros(200, dtype),
                np.zeros(200, dtype),
                *(full_range(rng, dtype) for _ in range(3)),
            ),
            lambda low, high, *x: (np.min(x, axis=0), np.max(x, axis=0)),
            variant=dtype.__name__,
        )
        for dtype in (np.int8, np.uint32, np.int64, np.uint64)
    ),
    Case(
        mixed_widths,
        lambda rng: (
            np.zeros(100, np.int32),
            full_range(rng, np.int16, 100).astype(np.int32),
            full_range(rng, np.int8, 100),
        ),
        lambda y, x, z: (x * 1000 + z.astype(np.int32),),
    ),
    Case(
        sign_and_unsigned,
        lambda rng: (
            np.zeros(100, np.int64),
            full_range(rng, np.int32, 100),
            full_range(rng, np.uint32, 100),
        ),
        lambda y, x, z: (x.astype(np.int64) - z.astype(np.int64),),
    ),
    Case(
        large_products,
        lambda rng: (np.zeros(100, np.int64), rng.integers(-(2**31), 2**31, 100)),
        lambda y, x: (x * 3000000019 - x * 2**20,),
    ),
    Case(
        large_counter,
        lambda rng: (np.zeros(9, np.int64),),
        lambda y: (30_000_000_045 - 10 * np.arange(9),),
    ),
    *(
        Case(
            float_floor,
            lambda rng, dtype=dtype: (
                np.zeros(100, dtype),
                np.zeros(100, dtype),
                (rng.integers(-400, 400, 100) / 4).astype(dtype),
                (rng.choice([-1, 1], 100) * rng.integers(1, 20, 100) / 4).astype(dtype),
            ),
            lambda q, r, x, z: (
                np.floor(x.astype(np.float64) / z.astype(np.float64)).astype(x.dtype),
                np.mod(x, z),
            ),
            variant=dtype.__name__,
        )
        for dtype in (np.float32, np.float64)
    ),
]
