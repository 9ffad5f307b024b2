"""Arguments that are views: steps, negative steps, transposes, parts of larger arrays."""

from __future__ import annotations

import numpy as np
from cases.case import Case, View

import portarray.kernel_language as kl


def add_arrays(y, x, z):
    i = kl.index()
    y[i] = x[i] + z[i]


def add_matrices(y, x, z):
    i, j = kl.index()
    y[i, j] = x[i, j] - z[i, j]


def double_in_place(y):
    slot = kl.index()
    y[slot] = y[slot] * 2


def sum_of_rows(y, x):
    i = kl.index()
    total = 0
    for j in range(x.shape[1]):
        total += x[i, j]
    y[i] = total


def add_to_column(x, y):
    i = kl.index()
    x[i] += y[i, 0] * y[i, 1]


def flatten(y, x):
    i, j, k = kl.index()
    y[(i * x.shape[1] + j) * x.shape[2] + k] = x[i, j, k]


def row_and_column(y, x):
    i, j = kl.index()
    y[i, j] = x[i, 0] * 100 + x[0, j]


def of_x(rng, *shape):
    return rng.integers(-99, 99, shape).astype(np.int32)


def rows(start, stop, step):
    return slice(start, stop, step)


EVERY = slice(None)
BACKWARDS = slice(None, None, -1)

CASES = [
    *(
        Case(
            add_arrays,
            lambda rng, first=first, second=second, third=third: (
                View(np.zeros(60, np.int32), (first,)),
                View(of_x(rng, 60), (second,)),
                View(of_x(rng, 60), (third,)),
            ),
            lambda y, x, z: (x + z,),
            variant=variant,
        )
        for variant, first, second, third in (
            ("steps", rows(0, 60, 3), rows(1, 60, 3), rows(20, 40, 1)),
            ("backwards", rows(None, None, 1), BACKWARDS, EVERY),
            ("all-backwards", BACKWARDS, BACKWARDS, BACKWARDS),
            ("parts", rows(7, 19, 1), rows(30, 6, -2), rows(0, 60, 5)),
        )
    ),
    *(
        Case(
            add_matrices,
            lambda rng, first=first, second=second: (
                np.zeros((6, 8), np.int32),
                View(of_x(rng, *first[0]), *first[1:]),
                View(of_x(rng, *second[0]), *second[1:]),
            ),
            lambda y, x, z: (x - z,),
            variant=variant,
        )
        for variant, first, second in (
            ("transposed", ((8, 6), (EVERY, EVERY), True), ((6, 8), (EVERY, EVERY), False)),
            (
                "parts",
                ((20, 30), (rows(3, 9, 1), rows(5, 13, 1))),
                ((20, 30), (rows(8, 16, 1), rows(20, 2, -3)), True),
            ),
            (
                "steps",
                ((12, 8), (rows(0, 12, 2), BACKWARDS)),
                ((6, 16), (BACKWARDS, rows(1, 16, 2))),
            ),
            ("plane", ((3, 6, 8), (1,)), ((6, 3, 8), (EVERY, 2))),
        )
    ),
    *(
        Case(
            double_in_place,
            lambda rng, shape=shape, key=key, transposed=transposed: (
                View(of_x(rng, *shape), key, transposed),
            ),
            lambda y: (y + y,),
            variant=variant,
        )
        for variant, shape, key, transposed in (
            ("steps", (40,), (rows(1, 40, 4),), False),
            ("transposed", (5, 9), (EVERY, EVERY), True),
            ("part", (9, 9), (rows(2, 7, 2), rows(8, 3, -1)), False),
            ("axis", (4, 5, 6), (EVERY, 3, EVERY), False),
        )
    ),
    Case(
        sum_of_rows,
        lambda rng: (np.zeros(10, np.int32), View(of_x(rng, 7, 10), (EVERY, EVERY), True)),
        lambda y, x: (x.sum(axis=1).astype(np.int32),),
    ),
    Case(
        add_to_column,
        lambda rng: (
            View(of_x(rng, 12, 3), (EVERY, 1)),
            View(of_x(rng, 12, 6), (EVERY, rows(1, 6, 4))),
        ),
        lambda x, y: (x + y.prod(axis=1).astype(np.int32),),
    ),
    Case(
        flatten,
        lambda rng: (
            np.zeros(24, np.int32),
            View(of_x(rng, 3, 4, 4), (EVERY, BACKWARDS, rows(0, 4, 2))),
        ),
        lambda y, x: (x.reshape(-1),),
        ndrange=(3, 4, 2),
    ),
    Case(
        row_and_column,
        lambda rng: (np.zeros((5, 4), np.int32), View(of_x(rng, 4, 5), (EVERY, EVERY), True)),
        lambda y, x: (x[:, :1] * 100 + x[:1],),
    ),
]
