"""``kl.print``, which changes nothing."""

from __future__ import annotations

import numpy as np
from cases.case import Case

import portarray.kernel_language as kl


def print_one(y, x):
    i = kl.index()
    y[i] = x[i] + 1
    if i == 3:
        kl.print(i, x[i])


def print_in_a_loop(y, x):
    i = kl.index()
    total = 0
    for k in range(3):
        total += x[i]
        if i == 2:
            kl.print(k, total)
    y[i] = total


CASES = [
    Case(
        print_one,
        lambda rng: (np.zeros(9, np.int32), np.arange(9, dtype=np.int32) * 11),
        lambda y, x: (x + 1,),
        prints="3 33",
    ),
    Case(
        print_in_a_loop,
        lambda rng: (np.zeros(5, np.int32), np.arange(5, dtype=np.int32)),
        lambda y, x: (x * 3,),
        prints="2 6",
    ),
]
