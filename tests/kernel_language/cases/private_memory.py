"""Arrays of one work-item, and unrolled loops."""

from __future__ import annotations

import numpy as np
from cases.case import Case

import portarray.kernel_language as kl


def sort_five(y, x):
    i = kl.index()
    row = kl.private(5, kl.float32)
    for k in range(5):
        row[k] = x[i, k]
    for k in range(1, 5):
        value = row[k]
        j = k - 1
        while j >= 0 and row[j] > value:
            row[j + 1] = row[j]
            j -= 1
        row[j + 1] = value
    for k in kl.unroll(range(5)):
        y[i, k] = row[k]


def median_by_network(y, x):
    i, j = kl.index()
    window = kl.private((9,), kl.uint8)
    for k in kl.unroll(range(9)):
        window[k] = x[i + k // 3, j + k % 3]
    for a in kl.unroll(range(9)):
        for b in kl.unroll(range(8 - a)):
            low = min(window[b], window[b + 1])
            high = max(window[b], window[b + 1])
            window[b], window[b + 1] = low, high
    y[i, j] = window[4]


def solve_three(x, a, b):
    i = kl.index()
    m = kl.private((3, 4), kl.float64)
    for r in range(3):
        for c in range(3):
            m[r, c] = a[i, r, c]
        m[r, 3] = b[i, r]
    for p in range(3):
        best = p
        for r in range(p + 1, 3):
            if abs(m[r, p]) > abs(m[best, p]):
                best = r
        for c in range(4):
            m[p, c], m[best, c] = m[best, c], m[p, c]
        for r in range(3):
            if r != p:
                factor = m[r, p] / m[p, p]
                for c in range(p, 4):
                    m[r, c] -= factor * m[p, c]
    for r in range(3):
        x[i, r] = m[r, 3] / m[r, r]


def digits_backwards(y, x):
    i = kl.index()
    digits = kl.private(10, kl.int32)
    count = 0
    remaining = x[i]
    while True:
        digits[count] = remaining % 10
        remaining //= 10
        count += 1
        if remaining == 0:
            break
    value = 0
    for k in range(count):
        value = value * 10 + digits[k]
    y[i] = value


def longest_common_subsequence(y, x, z):
    i = kl.index()
    row = kl.private(9, kl.int32)
    for k in range(9):
        row[k] = 0
    for a in range(x.shape[1]):
        corner = 0
        for b in range(8):
            above = row[b + 1]
            if x[i, a] == z[i, b]:
                row[b + 1] = corner + 1
            else:
                row[b + 1] = max(row[b], above)
            corner = above
    y[i] = row[8]


def unrolled_sum(y, x):
    i = kl.index()
    total = kl.float32(0)
    for k in kl.unroll(range(8)):
        total += x[i, k]
    y[i] = total


def unrolled_with_steps(y, x):
    i = kl.index()
    total = 0
    for k in kl.unroll(range(10, 0, -3)):
        total = total * 2 + x[i] % k
    for k in kl.unroll(range(2, 2)):
        total = 12345 + k
    y[i] = total


def unrolled_with_break(y, x):
    i = kl.index()
    at = -1
    for k in kl.unroll(range(6)):
        if x[i, k] < 0:
            continue
        if x[i, k] == 3:
            at = k
            break
    y[i] = at


def small_matrix_product(c, a, b):
    i = kl.index()
    for r in kl.unroll(range(2)):
        for s in kl.unroll(range(2)):
            total = kl.int64(0)
            for k in kl.unroll(range(2)):
                total += a[i, r, k] * b[i, k, s]
            c[i, r, s] = total


def two_private_arrays(y, x):
    i = kl.index()
    even = kl.private(4, x.dtype)
    odd = kl.private(4, x.dtype)
    for k in range(4):
        even[k] = x[i, 2 * k]
        odd[k] = x[i, 2 * k + 1]
    for k in range(4):
        y[i, k] = odd[k]
        y[i, k + 4] = even[3 - k]


def private_in_a_loop(y, x):
    i = kl.index()
    counts = kl.private(4, kl.uint8)
    for row in range(x.shape[1]):
        for k in range(4):
            counts[k] = 0
        for column in range(x.shape[2]):
            counts[x[i, row, column]] += 1
        for k in range(4):
            y[i, row, k] = counts[k]


def places_of_its_own(y, x, first, second):
    i = kl.index()
    memory = kl.private(4, kl.float32)
    memory[0] = 10.0
    memory[1] = 20.0
    memory[2] = 30.0
    memory[3] = 40.0
    memory[first[i]] = x[i]
    y[i] = memory[second[i]] + memory[3 - second[i]]


def of_x(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def _in_order(y, x):
    total = np.zeros_like(y)
    for column in x.T:
        total += column
    return (total,)


def _windows(y, x):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3))
    return (np.median(windows, axis=(2, 3)).astype(np.uint8),)


def _steps(y, x):
    total = np.zeros_like(x)
    for k in (10, 7, 4, 1):
        total = total * 2 + x % k
    return (total,)


def _first_three(y, x):
    at = [row.tolist() for row in x]
    return (np.array([row.index(3) if 3 in row else -1 for row in at], y.dtype),)


def _longest(y, x, z):
    def length(a, b):
        table = np.zeros((len(a) + 1, len(b) + 1), int)
        for i, a_i in enumerate(a, 1):
            for j, b_j in enumerate(b, 1):
                same = table[i - 1, j - 1] + 1
                table[i, j] = same if a_i == b_j else max(table[i - 1, j], table[i, j - 1])
        return table[-1, -1]

    return (np.array([length(a, b) for a, b in zip(x, z, strict=True)], y.dtype),)


def _counts(y, x):
    return ((x[..., None] == np.arange(4)).sum(axis=2).astype(y.dtype),)


def _places(y, x, first, second):
    memory = np.tile(np.asarray([10, 20, 30, 40], np.float32), (x.size, 1))
    every = np.arange(x.size)
    memory[every, first] = x
    return (memory[every, second] + memory[every, 3 - second],)


CASES = [
    Case(
        sort_five,
        lambda rng: (np.zeros((70, 5), np.float32), of_x(rng, 70, 5)),
        lambda y, x: (np.sort(x, axis=1),),
        ndrange=(70,),
    ),
    Case(
        median_by_network,
        lambda rng: (
            np.zeros((6, 7), np.uint8),
            rng.integers(0, 256, (8, 9)).astype(np.uint8),
        ),
        _windows,
    ),
    Case(
        solve_three,
        lambda rng: (
            np.zeros((40, 3)),
            rng.standard_normal((40, 3, 3)) + 3 * np.eye(3)[::-1],
            rng.standard_normal((40, 3)),
        ),
        lambda x, a, b: (np.linalg.solve(a, b[..., None])[..., 0],),
        ndrange=(40,),
        tolerance=1e-9,
    ),
    Case(
        digits_backwards,
        lambda rng: (np.zeros(50, np.int32), rng.integers(0, 2 * 10**8, 50).astype(np.int32)),
        lambda y, x: (np.array([int(str(v)[::-1]) for v in x], np.int64).astype(np.int32),),
    ),
    Case(
        longest_common_subsequence,
        lambda rng: (
            np.zeros(20, np.int32),
            rng.integers(0, 3, (20, 11)).astype(np.int8),
            rng.integers(0, 3, (20, 8)).astype(np.int8),
        ),
        _longest,
    ),
    Case(
        unrolled_sum,
        lambda rng: (np.zeros(33, np.float32), of_x(rng, 33, 8)),
        _in_order,
    ),
    Case(
        unrolled_with_steps,
        lambda rng: (np.zeros(50, np.int32), np.arange(-20, 30, dtype=np.int32)),
        _steps,
    ),
    Case(
        unrolled_with_break,
        lambda rng: (np.zeros(30, np.int32), rng.integers(-3, 6, (30, 6)).astype(np.int32)),
        _first_three,
    ),
    Case(
        small_matrix_product,
        lambda rng: (
            np.zeros((12, 2, 2), np.int64),
            rng.integers(-9, 9, (12, 2, 2)),
            rng.integers(-9, 9, (12, 2, 2)),
        ),
        lambda c, a, b: (np.einsum("nij,njk->nik", a, b),),
        ndrange=(12,),
    ),
    *(
        Case(
            two_private_arrays,
            lambda rng, dtype=dtype: (np.zeros((9, 8), dtype), of_x(rng, 9, 8).astype(dtype)),
            lambda y, x: (np.concatenate((x[:, 1::2], x[:, 6::-2]), axis=1),),
            ndrange=(9,),
            variant=dtype.__name__,
        )
        for dtype in (np.float16, np.float32, np.int64, np.bool_)
    ),
    Case(
        private_in_a_loop,
        lambda rng: (
            np.zeros((5, 3, 4), np.uint8),
            rng.integers(0, 4, (5, 3, 20)).astype(np.int32),
        ),
        _counts,
        ndrange=(5,),
    ),
    Case(
        places_of_its_own,
        lambda rng: (
            np.zeros(100, np.float32),
            of_x(rng, 100),
            rng.integers(0, 4, 100).astype(np.int32),
            rng.integers(0, 4, 100).astype(np.int32),
        ),
        _places,
    ),
]
