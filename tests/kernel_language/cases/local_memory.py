"""Memory that a group shares, and barriers."""

from __future__ import annotations

import numpy as np
from cases.case import Case

import portarray.kernel_language as kl


def reverse_in_groups(y, x):
    i = kl.index()
    shared = kl.local(16, kl.float32)
    here = kl.local_index()
    shared[here] = x[i]
    kl.barrier()
    y[i] = shared[kl.group_size() - 1 - here]


def sum_of_groups(y, x):
    i = kl.linear_index()
    here = kl.local_linear_index()
    shared = kl.local((32,), kl.float32)
    shared[here] = x[i]
    kl.barrier()
    half = 16
    while half > 0:
        if here < half:
            shared[here] += shared[here + half]
        kl.barrier()
        half //= 2
    if here == 0:
        y[kl.group_index()] = shared[0]


def sum_of_neighbours(y, x, filled):
    """Add to places whose distance, of 64 bits, doubles in each turn of a loop."""
    here = kl.local_index()
    shared = kl.local(16, kl.int32)
    shared[here] = x[kl.index()]
    kl.barrier()
    step = 1
    while step < 16:
        left = 2 * step * here
        if left + step < filled:
            shared[left] += shared[left + step]
        kl.barrier()
        step *= 2
    if here == 0:
        y[kl.group_index()] = shared[0]


def running_sum_of_groups(y, x):
    i = kl.index()
    here = kl.local_index()
    shared = kl.local((2, 16), kl.int32)
    page = 0
    shared[page, here] = x[i]
    kl.barrier()
    step = 1
    while step < 16:
        next_page = 1 - page
        if here >= step:
            shared[next_page, here] = shared[page, here] + shared[page, here - step]
        else:
            shared[next_page, here] = shared[page, here]
        page = next_page
        step *= 2
        kl.barrier()
    y[i] = shared[page, here]


def transpose_by_tiles(y, x):
    tile = kl.local((4, 5), kl.float32)
    li, lj = kl.local_index()
    gi, gj = kl.group_index()
    tile[li, lj] = x[gj * 4 + li, gi * 4 + lj]
    kl.barrier()
    y[gi * 4 + li, gj * 4 + lj] = tile[lj, li]


def matmul_by_tiles(c, a, b):
    i, j = kl.index()
    li, lj = kl.local_index()
    left = kl.local((4, 4), kl.float32)
    right = kl.local((4, 4), kl.float32)
    total = kl.float32(0)
    for t in range(a.shape[1] // 4):
        left[li, lj] = a[i, t * 4 + lj]
        right[li, lj] = b[t * 4 + li, j]
        kl.barrier()
        for k in range(4):
            total += left[li, k] * right[k, lj]
        kl.barrier()
    c[i, j] = total


def matmul_by_ragged_tiles(c, a, b, rows, columns):
    i, j = kl.index()
    li, lj = kl.local_index()
    left = kl.local((4, 4), kl.float32)
    right = kl.local((4, 4), kl.float32)
    inner = a.shape[1]
    total = kl.float32(0)
    for t in range((inner + 3) // 4):
        left[li, lj] = a[i, t * 4 + lj] if i < rows and t * 4 + lj < inner else 0.0
        right[li, lj] = b[t * 4 + li, j] if t * 4 + li < inner and j < columns else 0.0
        kl.barrier()
        for k in range(4):
            total += left[li, k] * right[k, lj]
        kl.barrier()
    if i < rows and j < columns:
        c[i, j] = total


def bitonic_sort(y, x):
    i = kl.index()
    here = kl.local_index()
    shared = kl.local(32, kl.int32)
    shared[here] = x[i]
    kl.barrier()
    width = 2
    while width <= 32:
        step = width // 2
        while step > 0:
            partner = here ^ step
            if partner > here:
                upward = (here & width) == 0
                a, b = shared[here], shared[partner]
                if (a > b) == upward:
                    shared[here], shared[partner] = b, a
            kl.barrier()
            step //= 2
        width *= 2
    y[i] = shared[here]


def smooth_with_halo(y, x):
    i = kl.index()
    here = kl.local_index()
    n = x.shape[0]
    shared = kl.local(10, kl.float32)
    shared[here + 1] = x[i]
    if here == 0:
        shared[0] = x[max(i - 1, 0)]
    if here == kl.group_size() - 1:
        shared[here + 2] = x[min(i + 1, n - 1)]
    kl.barrier()
    y[i] = shared[here] + shared[here + 1] * 2.0 + shared[here + 2]


def histogram_of_groups(counts, x):
    here = kl.local_index()
    shared = kl.local(8, kl.int32)
    if here < 8:
        shared[here] = 0
    kl.barrier()
    kl.atomic_add(shared, x[kl.index()], 1)
    kl.barrier()
    if here < 8:
        kl.atomic_add(counts, here, shared[here])


def walsh_hadamard(y, x):
    i = kl.index()
    here = kl.local_index()
    shared = kl.local(16, kl.int32)
    shared[here] = x[i]
    kl.barrier()
    for stage in range(4):
        a = shared[here]
        b = shared[here ^ (1 << stage)]
        kl.barrier()
        shared[here] = b - a if here & (1 << stage) != 0 else a + b
        kl.barrier()
    y[i] = shared[here]


def steps_of_a_rule(y, x, steps):
    i = kl.index()
    n = x.shape[0]
    cells = kl.local((2, 32), kl.uint8)
    cells[0, i] = x[i]
    kl.barrier()
    for step in range(steps):
        page = step % 2
        left = cells[page, (i - 1) % n]
        right = cells[page, (i + 1) % n]
        cells[1 - page, i] = left ^ (cells[page, i] | right)
        kl.barrier()
    y[i] = cells[steps % 2, i]


def two_sizes_by_type(y, z, x):
    i = kl.index()
    here = kl.local_index()
    floats = kl.local(8, x.dtype)
    small = kl.local(8, kl.uint8)
    floats[here] = x[i]
    small[here] = kl.uint8(here)
    kl.barrier()
    y[i] = floats[(here + 3) % 8]
    z[i] = small[7 - here]


def local_of_static_size(y, x, size):
    i = kl.index()
    shared = kl.local(size, kl.int32)
    here = kl.local_index()
    shared[here] = x[i]
    kl.barrier()
    total = 0
    for k in range(size):
        total += shared[k]
    y[i] = total


def three_axes_in_a_group(y, x):
    i, j, k = kl.index()
    li, lj, lk = kl.local_index()
    shared = kl.local((2, 2, 4), kl.int32)
    shared[li, lj, lk] = x[i, j, k]
    kl.barrier()
    y[i, j, k] = shared[1 - li, 1 - lj, 3 - lk]


def of_x(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def small(rng, *shape, high=9):
    return rng.integers(-high, high + 1, shape).astype(np.int32)


def _tree(y, x):
    rows = x.reshape(-1, 32)
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = rows[:, :half] + rows[:, half:]
    return (rows[:, 0],)


def _matmul(c, a, b, *args):
    total = np.zeros_like(c)
    for k in range(a.shape[1]):
        total = total + a[:, k, None] * b[k]
    return (total,)


def _walsh(y, x):
    h = np.array([[(-1) ** bin(i & j).count("1") for j in range(16)] for i in range(16)])
    return ((x.reshape(-1, 16) @ h).reshape(-1).astype(np.int32),)


def _rule(y, x, steps):
    for _ in range(steps):
        x = np.roll(x, 1) ^ (x | np.roll(x, -1))
    return (x,)


def _halo(y, x):
    padded = np.pad(x, 1, mode="edge")
    return (padded[:-2] + x * 2 + padded[2:],)


def _eights(y, z, x):
    return np.roll(x.reshape(-1, 8), -3, axis=1).reshape(-1), np.resize(
        np.arange(8, dtype=np.uint8)[::-1], z.size
    )


def _mirrored(y, x):
    blocks = x.reshape(2, 2, 3, 2, 2, 4)
    return (blocks[:, ::-1, :, ::-1, :, ::-1].reshape(x.shape),)


CASES = [
    Case(
        sum_of_neighbours,
        lambda rng: (np.zeros(4, np.int32), rng.integers(0, 99, 64).astype(np.int32), 16),
        lambda y, x, filled: (x.reshape(4, 16).sum(axis=1).astype(np.int32),),
        ndrange=(64,),
        group=(16,),
    ),
    Case(
        reverse_in_groups,
        lambda rng: (np.zeros(64, np.float32), of_x(rng, 64)),
        lambda y, x: (x.reshape(-1, 16)[:, ::-1].reshape(-1),),
        group=(16,),
    ),
    Case(
        sum_of_groups,
        lambda rng: (np.zeros(4, np.float32), of_x(rng, 128)),
        _tree,
        ndrange=(128,),
        group=(32,),
    ),
    Case(
        running_sum_of_groups,
        lambda rng: (np.zeros(64, np.int32), small(rng, 64)),
        lambda y, x: (np.cumsum(x.reshape(-1, 16), axis=1, dtype=np.int32).reshape(-1),),
        group=(16,),
    ),
    Case(
        transpose_by_tiles,
        lambda rng: (np.zeros((8, 12), np.float32), of_x(rng, 12, 8)),
        lambda y, x: (x.T,),
        group=(4, 4),
    ),
    Case(
        matmul_by_tiles,
        lambda rng: (np.zeros((8, 12), np.float32), of_x(rng, 8, 16), of_x(rng, 16, 12)),
        _matmul,
        group=(4, 4),
    ),
    Case(
        matmul_by_ragged_tiles,
        lambda rng: (np.zeros((7, 9), np.float32), of_x(rng, 7, 5), of_x(rng, 5, 9), 7, 9),
        _matmul,
        ndrange=(8, 12),
        group=(4, 4),
    ),
    Case(
        bitonic_sort,
        lambda rng: (np.zeros(64, np.int32), small(rng, 64, high=99)),
        lambda y, x: (np.sort(x.reshape(-1, 32)).reshape(-1),),
        group=(32,),
    ),
    Case(
        smooth_with_halo,
        lambda rng: (np.zeros(40, np.float32), of_x(rng, 40)),
        _halo,
        group=(8,),
    ),
    Case(
        histogram_of_groups,
        lambda rng: (np.zeros(8, np.int32), rng.integers(0, 8, 96).astype(np.int32)),
        lambda counts, x: (np.bincount(x, minlength=8).astype(np.int32),),
        ndrange=(96,),
        group=(16,),
    ),
    Case(
        walsh_hadamard,
        lambda rng: (np.zeros(48, np.int32), small(rng, 48)),
        _walsh,
        group=(16,),
    ),
    Case(
        steps_of_a_rule,
        lambda rng: (np.zeros(32, np.uint8), rng.integers(0, 2, 32).astype(np.uint8), 9),
        _rule,
        group=(32,),
    ),
    *(
        Case(
            two_sizes_by_type,
            lambda rng, dtype=dtype: (
                np.zeros(24, dtype),
                np.zeros(24, np.uint8),
                of_x(rng, 24).astype(dtype),
            ),
            _eights,
            group=(8,),
            variant=dtype.__name__,
        )
        for dtype in (np.float16, np.float32, np.float64, np.int8)
    ),
    *(
        Case(
            local_of_static_size,
            lambda rng, size=size: (np.zeros(3 * size, np.int32), small(rng, 3 * size), size),
            lambda y, x, size: (np.repeat(x.reshape(3, -1).sum(axis=1), size).astype(np.int32),),
            group=(size,),
            static=("size",),
            variant=str(size),
        )
        for size in (1, 8, 12)
    ),
    Case(
        three_axes_in_a_group,
        lambda rng: (np.zeros((4, 6, 8), np.int32), small(rng, 4, 6, 8)),
        _mirrored,
        group=(2, 2, 4),
    ),
]
