"""Where a work-item is, what it reads and writes, and how large everything is."""

from __future__ import annotations

import numpy as np
from cases.case import Case

import portarray.kernel_language as kl


def saxpy(y, a, x):
    i = kl.index()
    y[i] = a * x[i] + y[i]


def fill_with_index(y):
    i = kl.index()
    y[i] = i


def two_axes(y):
    i, j = kl.index()
    y[i, j] = i * 1000 + j


def whole_tuple(y, x):
    y[kl.index()] = x[kl.index()] * 2


def kept_tuple(y, x):
    slot = kl.index()
    y[slot] = x[slot] - 1


def one_axis_at_a_time(y):
    i = kl.index(0)
    j = kl.index(1)
    y[i, j] = i - j


def linear_of_three(y):
    i, j, k = kl.index()
    y[i, j, k] = kl.linear_index()


def four_axes(y, x):
    i, j, k, n = kl.index()
    y[i, j, k, n] = x[n, k, j, i] + i * 1000 + j * 100 + k * 10 + n


def sizes(y, x):
    i = kl.index()
    if i == 0:
        y[i] = x.shape[0]
    elif i == 1:
        y[i] = x.shape[1]
    elif i == 2:
        y[i] = x.ndim
    elif i == 3:
        y[i] = x.size
    elif i == 4:
        y[i] = len(x)
    else:
        y[i] = kl.global_size(0)


def places_in_groups(y, z):
    i, j = kl.index()
    y[i, j] = kl.group_index(0) * 10 + kl.group_index(1)
    z[i, j] = kl.local_index(0) * 10 + kl.local_index(1)


def sizes_of_groups(y):
    i, j = kl.index()
    here = kl.group_index(0) * kl.group_size(0) + kl.local_index(0)
    there = kl.group_index(1) * kl.group_size(1) + kl.local_index(1)
    same = here == i and there == j
    y[i, j] = (kl.group_count(0) * 100 + kl.group_count(1)) * kl.int32(same)


def local_linear(y):
    i, j = kl.index()
    li, lj = kl.local_index()
    y[i, j] = kl.local_linear_index() - (li * kl.group_size(1) + lj)


def three_written(total, x, difference, z, product):
    i = kl.index()
    total[i] = x[i] + z[i]
    difference[i] = x[i] - z[i]
    product[i] = x[i] * z[i]


def every_third(y, x):
    i = kl.index()
    y[3 * i + 1] = x[i]


def more_items_than_elements(y, n):
    i = kl.index()
    if i < n:
        y[i] = y[i] + 1


def loop_over_nothing(y, x):
    i = kl.index()
    total = 7
    for k in range(x.shape[0]):
        total += k
    y[i] = total


def nothing_to_write(y, x):
    i = kl.index()
    y[i] = x[i]


def scalars(y, a, b, c):
    i = kl.index()
    if c:
        y[i] = y[i] * a + b
    else:
        y[i] = 0


def read_after_write(y):
    i = kl.index()
    y[i] = y[i] + 1
    y[i] = y[i] * y[i]
    y[i] -= 3


def stride_of_the_grid(y, x):
    i = kl.index()
    for k in range(i, x.shape[0], kl.global_size(0)):
        y[k] = x[k] * 3


def of_x(rng, n, dtype=np.float32):
    return rng.standard_normal(n).astype(dtype)


def _numbers(*shape):
    return np.arange(np.prod(shape)).reshape(shape)


def _saxpy(y, a, x):
    return (np.float32(a) * x + y,)


def _groups(y, z):
    i, j = np.indices(y.shape)
    return (i // 2 * 10 + j // 4).astype(np.int32), (i % 2 * 10 + j % 4).astype(np.int32)


def _four(y, x):
    i, j, k, n = np.indices(y.shape, dtype=np.int32)
    return (x.transpose(3, 2, 1, 0) + i * 1000 + j * 100 + k * 10 + n,)


def _every_third(y, x):
    y[1::3] = x
    return (y,)


CASES = [
    *(
        Case(
            saxpy,
            lambda rng, n=n: (of_x(rng, n), 2.5, of_x(rng, n)),
            _saxpy,
            group=group,
            variant=f"{n}-{group}",
        )
        for n, group in ((1, None), (7, None), (1000, None), (1023, (64,)), (1001, (1,)))
    ),
    Case(
        saxpy,
        lambda rng: (of_x(rng, 100), 3, of_x(rng, 100)),
        lambda y, a, x: (np.concatenate((np.float32(a) * x[:33] + y[:33], y[33:])),),
        ndrange=(33,),
        variant="part",
    ),
    Case(
        fill_with_index,
        lambda rng: (np.zeros(77, np.int32),),
        lambda y: (np.arange(77, dtype=np.int32),),
    ),
    Case(
        fill_with_index,
        lambda rng: (np.zeros(301, np.float32),),
        lambda y: (np.arange(301, dtype=np.float32),),
        variant="float32",
    ),
    *(
        Case(
            two_axes,
            lambda rng, shape=shape: (np.zeros(shape, np.int32),),
            lambda y: (sum(np.indices(y.shape, np.int32) * np.int32([[[1000]], [[1]]])),),
            group=group,
            variant=f"{shape[0]}x{shape[1]}",
        )
        for shape, group in (((3, 5), None), ((1, 129), None), ((129, 1), None), ((33, 65), (4, 8)))
    ),
    Case(
        whole_tuple,
        lambda rng: (np.zeros((3, 4, 5), np.float32), of_x(rng, (3, 4, 5))),
        lambda y, x: (x + x,),
    ),
    Case(
        kept_tuple,
        lambda rng: (np.zeros((6, 7), np.int64), rng.integers(-9, 9, (6, 7))),
        lambda y, x: (x - 1,),
    ),
    Case(
        one_axis_at_a_time,
        lambda rng: (np.zeros((9, 11), np.int32),),
        lambda y: (np.subtract.outer(np.arange(9), np.arange(11)).astype(np.int32),),
    ),
    *(
        Case(
            linear_of_three,
            lambda rng, shape=shape: (np.zeros(shape, np.int32),),
            lambda y: (_numbers(*y.shape).astype(np.int32),),
            variant="x".join(map(str, shape)),
        )
        for shape in ((3, 4, 5), (1, 1, 17), (17, 1, 3))
    ),
    Case(
        four_axes,
        lambda rng: (
            np.zeros((2, 3, 4, 5), np.int32),
            rng.integers(0, 9, (5, 4, 3, 2)).astype(np.int32),
        ),
        _four,
    ),
    Case(
        sizes,
        lambda rng: (np.zeros(6, np.int32), np.zeros((4, 9), np.float32)),
        lambda y, x: (np.array([4, 9, 2, 36, 4, 6], np.int32),),
    ),
    Case(
        places_in_groups,
        lambda rng: (np.zeros((5, 10), np.int32), np.zeros((5, 10), np.int32)),
        _groups,
        group=(2, 4),
    ),
    Case(
        sizes_of_groups,
        lambda rng: (np.zeros((6, 8), np.int32),),
        lambda y: (np.full((6, 8), 302, np.int32),),
        group=(2, 4),
    ),
    Case(
        local_linear,
        lambda rng: (np.ones((6, 8), np.int32),),
        lambda y: (np.zeros((6, 8), np.int32),),
        group=(3, 4),
    ),
    Case(
        three_written,
        lambda rng: (
            np.zeros(65, np.float32),
            of_x(rng, 65),
            np.zeros(65, np.float32),
            of_x(rng, 65),
            np.zeros(65, np.float32),
        ),
        lambda total, x, difference, z, product: (x + z, x - z, x * z),
    ),
    Case(
        every_third,
        lambda rng: (np.zeros(33, np.int32), np.arange(11, dtype=np.int32)),
        _every_third,
        ndrange=(11,),
    ),
    Case(
        more_items_than_elements,
        lambda rng: (np.arange(10, dtype=np.int32), 10),
        lambda y, n: (y + 1,),
        ndrange=(64,),
    ),
    Case(
        loop_over_nothing,
        lambda rng: (np.zeros(5, np.int32), np.zeros(0, np.int32)),
        lambda y, x: (np.full(5, 7, np.int32),),
    ),
    *(
        Case(
            nothing_to_write,
            lambda rng, n=n: (np.zeros(n, np.float32), np.zeros(n, np.float32)),
            lambda y, x: (y,),
            variant=f"{n}",
        )
        for n in (0, 1)
    ),
    Case(
        scalars,
        lambda rng: (of_x(rng, 20), 2, 0.5, True),
        lambda y, a, b, c: (y * np.float32(2) + np.float32(0.5),),
    ),
    Case(
        scalars,
        lambda rng: (of_x(rng, 20), np.float32(2), np.int64(3), False),
        lambda y, a, b, c: (np.zeros(20, np.float32),),
        variant="numpy",
    ),
    Case(
        read_after_write,
        lambda rng: (np.arange(50, dtype=np.int32),),
        lambda y: (((y + 1) ** 2 - 3).astype(np.int32),),
    ),
    Case(
        stride_of_the_grid,
        lambda rng: (np.zeros(1000, np.float32), of_x(rng, 1000)),
        lambda y, x: (x * 3,),
        ndrange=(64,),
    ),
]
