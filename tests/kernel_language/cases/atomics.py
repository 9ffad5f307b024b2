"""Atomic operations; what they return is used so that the order does not show."""

from __future__ import annotations

import numpy as np
from cases.case import Case

import portarray.kernel_language as kl


def histogram(counts, x):
    kl.atomic_add(counts, x[kl.index()], 1)


def histogram_of_two(counts, x, z):
    i = kl.index()
    kl.atomic_add(counts, (x[i], z[i]), 1)


def sum_all(total, x):
    kl.atomic_add(total, 0, x[kl.index()])


def smallest_and_largest(low, high, x):
    i = kl.index()
    kl.atomic_min(low, i % 3, x[i])
    kl.atomic_max(high, i % 3, x[i])


def tickets(numbers, counter):
    ticket = kl.atomic_add(counter, 0, 1)
    numbers[ticket] = 1


def append_where_positive(positives, count, x):
    i = kl.index()
    if x[i] > 0:
        slot = kl.atomic_add(count, 0, 1)
        positives[slot] = i
        kl.atomic_max(positives, x.shape[0], i)


def exchange(y, x):
    i = kl.index()
    old = kl.atomic_exchange(y, i % 4, x[i])
    kl.atomic_add(y, 4 + i % 4, old)


def first_come(owner, wins, keys):
    i = kl.index()
    if kl.atomic_compare_exchange(owner, keys[i], -1, 7) == -1:
        kl.atomic_add(wins, keys[i], 1)


def product_by_compare(y, x):
    i = kl.index()
    old = y[i % 2]
    while True:
        previous = kl.atomic_compare_exchange(y, i % 2, old, old * x[i])
        if previous == old:
            break
        old = previous


def votes(y, x):
    i = kl.index()
    if x[i] > 0.5:
        kl.atomic_add(y, 0, 1)
    else:
        kl.atomic_add(y, 1, -1)


def of_local_memory(y, x):
    here = kl.local_index()
    low = kl.local(1, kl.int32)
    high = kl.local(1, kl.int32)
    if here == 0:
        low[0] = 2147483647
        high[0] = -2147483648
    kl.barrier()
    value = x[kl.index()]
    kl.atomic_min(low, 0, value)
    kl.atomic_max(high, 0, value)
    kl.barrier()
    if here == 0:
        y[kl.group_index()] = high[0] - low[0]


def of_x(rng, dtype, n=150):
    if dtype in (np.uint32, np.uint64):
        return rng.integers(0, 1000, n).astype(dtype)
    return rng.integers(-500, 500, n).astype(dtype)


def _of_two(counts, x, z):
    np.add.at(counts, (x, z), 1)
    return (counts,)


def _limits(low, high, x):
    for k in range(3):
        low[k] = min(low[k], x[k::3].min())
        high[k] = max(high[k], x[k::3].max())
    return low, high


CASES = [
    *(
        Case(
            histogram,
            lambda rng, dtype=dtype: (
                np.zeros(10, dtype),
                rng.integers(0, 10, 500).astype(np.int32),
            ),
            lambda counts, x: (np.bincount(x, minlength=10).astype(counts.dtype),),
            ndrange=(500,),
            atomics64=np.dtype(dtype).itemsize == 8,
            variant=dtype.__name__,
        )
        for dtype in (np.int32, np.uint32, np.float32, np.int64, np.uint64)
    ),
    Case(
        histogram_of_two,
        lambda rng: (
            np.zeros((4, 5), np.int32),
            rng.integers(0, 4, 300).astype(np.int32),
            rng.integers(0, 5, 300).astype(np.int64),
        ),
        _of_two,
        ndrange=(300,),
    ),
    *(
        Case(
            sum_all,
            lambda rng, dtype=dtype: (np.ones(1, dtype), of_x(rng, dtype)),
            lambda total, x: (total + x.sum(dtype=x.dtype),),
            ndrange=(150,),
            atomics64=np.dtype(dtype).itemsize == 8,
            variant=dtype.__name__,
        )
        for dtype in (np.int32, np.uint32, np.float32, np.int64, np.float64)
    ),
    *(
        Case(
            smallest_and_largest,
            lambda rng, dtype=dtype: (
                np.full(3, 400, dtype),
                np.full(3, 20, dtype),
                of_x(rng, dtype),
            ),
            _limits,
            ndrange=(150,),
            atomics64=np.dtype(dtype).itemsize == 8,
            variant=dtype.__name__,
        )
        for dtype in (np.int32, np.uint32, np.float32, np.int64, np.uint64)
    ),
    Case(
        tickets,
        lambda rng: (np.zeros(77, np.int32), np.zeros(1, np.int32)),
        lambda numbers, counter: (numbers + 1, counter + 77),
        ndrange=(77,),
    ),
    Case(
        append_where_positive,
        lambda rng: (
            np.full(61, -1, np.int32),
            np.zeros(1, np.int32),
            np.where(np.arange(60) == rng.integers(60), 1.0, -1.0).astype(np.float32),
        ),
        lambda positives, count, x: (
            np.concatenate(([x.argmax()], positives[:59], [x.argmax()])).astype(np.int32),
            count + 1,
        ),
        ndrange=(60,),
    ),
    *(
        Case(
            exchange,
            # Four take part in each exchange and all bring the same, so that no order shows.
            lambda rng, dtype=dtype: (np.arange(8).astype(dtype), np.full(16, 5, dtype)),
            lambda y, x: (np.array([5, 5, 5, 5, 19, 21, 23, 25], y.dtype),),
            ndrange=(16,),
            variant=dtype.__name__,
        )
        for dtype in (np.int32, np.uint32, np.float32)
    ),
    Case(
        first_come,
        lambda rng: (
            np.full(6, -1, np.int32),
            np.zeros(6, np.int32),
            rng.integers(0, 5, 90).astype(np.int32),
        ),
        lambda owner, wins, keys: (
            np.array([7, 7, 7, 7, 7, -1], np.int32),
            np.array([1, 1, 1, 1, 1, 0], np.int32),
        ),
        ndrange=(90,),
    ),
    Case(
        product_by_compare,
        lambda rng: (np.ones(2, np.uint32), rng.integers(1, 99, 60).astype(np.uint32)),
        lambda y, x: (np.array([x[::2].prod(dtype=np.uint32), x[1::2].prod(dtype=np.uint32)]),),
        ndrange=(60,),
    ),
    Case(
        votes,
        lambda rng: (np.zeros(2, np.int32), rng.random(200).astype(np.float32)),
        lambda y, x: (np.array([(x > 0.5).sum(), -(x <= 0.5).sum()], np.int32),),
        ndrange=(200,),
    ),
    Case(
        of_local_memory,
        lambda rng: (np.zeros(6, np.int32), of_x(rng, np.int32, 96)),
        lambda y, x: (np.ptp(x.reshape(6, 16), axis=1),),
        ndrange=(96,),
        group=(16,),
    ),
]
