"""Loops, branches, early returns, and what they leave behind."""

from __future__ import annotations

from math import comb

import numpy as np
from cases.case import Case

import portarray.kernel_language as kl


def early_return(y, x):
    i = kl.index()
    if x[i] < 0:
        return
    y[i] = x[i]
    if x[i] > 50:
        y[i] = 50
        return
    y[i] += 1


def return_from_loops(y, x):
    i = kl.index()
    for a in range(x.shape[0]):
        for b in range(x.shape[0]):
            if x[a] + x[b] == i:
                y[i] = a * 100 + b
                return
    y[i] = -1


def break_and_continue(y, x):
    i = kl.index()
    total = 0
    for k in range(100):
        if k % 3 == 0:
            continue
        if total > x[i]:
            break
        total += k
    y[i] = total


def inner_break_only(y):
    i = kl.index()
    count = 0
    for a in range(10):
        for b in range(10):
            if b > a:
                break
            if (a + b + i) % 2 != 0:
                continue
            count += 1
    y[i] = count


def while_with_both(y):
    i = kl.index()
    n = i
    steps = 0
    while n > 0:
        steps += 1
        if steps > 20:
            break
        if n % 2 == 1:
            n -= 1
            continue
        n //= 2
    y[i] = steps


def counted_down(y):
    i = kl.index()
    value = 0
    for k in range(i, -1, -2):
        value = value * 3 + k
        value %= 1000
    y[i] = value


def counter_after_the_loop(y):
    i = kl.index()
    k = -5
    for k in range(i):
        if k == 7:
            break
    y[i] = k


def counter_changed_inside(y):
    i = kl.index()
    total = 0
    for k in range(5):
        k = k * 10
        total += k + i
    y[i] = total


def range_taken_once(y):
    i = kl.index()
    n = 4
    total = 0
    for _ in range(n):
        n += 1
        total += n
    y[i] = total + i


def long_chain(y, x):
    i = kl.index()
    v = x[i]
    if v < -10:
        y[i] = 1
    elif v < 0:
        y[i] = 2
    elif v == 0:
        y[i] = 3
    elif v < 10:
        y[i] = 4
    else:
        if v % 2 == 1:
            y[i] = 5
        else:
            y[i] = 6


def chained_comparisons(y, x, z):
    i = kl.index()
    a, b = x[i], z[i]
    code = kl.int32(0 <= a < b <= 9)
    code += kl.int32(a == b != 3) * 2
    code += kl.int32(-5 < b > a) * 4
    y[i] = code + kl.int32(a < b < a) * 8


def short_circuits(y, x):
    i = kl.index()
    n = x.shape[0]
    left = i > 0 and x[i - 1] > x[i]
    right = i >= n - 1 or x[i + 1] > x[i]
    y[i] = not left and right


def conditional_expressions(y, x):
    i = kl.index()
    v = x[i]
    y[i] = -1 if v < 0 else (1 if v > 0 else 0) * (2 if v > 10 else 3)


def evaluates_one_branch(y, x):
    i = kl.index()
    y[i] = x[i - 1] if i > 0 else x[x.shape[0] - 1]


def exchanged(y, x):
    i = kl.index()
    a, b, c = x[i], x[i] + 1, x[i] * 2
    a, b, c = c, a, b
    a, b, c = b, a, c + a
    y[i] = a * 10000 + b * 100 + c


def fibonacci(y):
    i = kl.index()
    a, b = 0, 1
    for _ in range(i):
        a, b = b, a + b
    y[i] = a


def chained_assignment(y, x):
    i = kl.index()
    a = b = x[i] * 2
    a += 1
    y[i] = a * 1000 + b


def augmented(y, x):
    i = kl.index()
    v = x[i]
    v += 17
    v *= 3
    v -= 5
    v //= 4
    v %= 97
    v <<= 3
    v >>= 1
    v |= 5
    v &= 0xFE
    v ^= 0x33
    v **= 2
    y[i] = v


def augmented_elements(y, x):
    i, j = kl.index()
    y[i, j] += x[j]
    y[i, j] *= 2
    y[i, j] -= i
    y[i, j] //= 3
    y[i, j] ^= j


def augmented_division(y, x):
    i = kl.index()
    v = x[i]
    v /= 4
    y[i] = v
    y[i] /= 2.0


def conditions_of_numbers(y, x, z):
    i = kl.index()
    count = 0
    if x[i] != 0:
        count += 1
    if not bool(z[i]):
        count += 2
    if bool(x[i]) and z[i] > 0.0:
        count += 4
    while x[i] > count and z[i] != 0:
        count += 8
    y[i] = count


def flags(y, x):
    i = kl.index()
    inside = False
    for k in range(i + 1):
        if x[k] == 1:
            inside = not inside
    y[i] = inside


def insertion_in_place(x):
    row = kl.index()
    for k in range(1, x.shape[1]):
        value = x[row, k]
        j = k
        while j > 0 and x[row, j - 1] > value:
            x[row, j] = x[row, j - 1]
            j -= 1
        x[row, j] = value


def nested_in_four(y):
    i = kl.index()
    count = 0
    for a in range(i):
        for b in range(a, i):
            for c in range(b, i):
                for d in range(c, i):
                    if a * a + b * b + c * c == d * d:
                        count += 1
    y[i] = count


def nothing_but_pass(y):
    """Do what Python does with statements that do nothing."""
    i = kl.index()
    if i > 3:
        pass
    else:
        y[i] = i
    for _ in range(3):
        pass


def assigned_in_both_branches(y, x):
    i = kl.index()
    if x[i] > 0:
        value = x[i]
        sign = 1
    else:
        value = -x[i]
        sign = -1
    y[i] = value * 10 + sign


def of_x(rng, n=100, low=-60, high=90):
    return rng.integers(low, high, n).astype(np.int32)


def numbers(n):
    return np.zeros(n, np.int32)


def _by_python(function):
    """Compute each element by a function of its place and of what else there is."""

    def expected(y, *args):
        return (np.array([function(i, *args) for i in range(y.size)]).astype(y.dtype),)

    return expected


def _pair(i, x):
    pairs = [(a, b) for a in range(x.size) for b in range(x.size) if x[a] + x[b] == i]
    return pairs[0][0] * 100 + pairs[0][1] if pairs else -1


def _until(i, x):
    total = 0
    for k in (k for k in range(100) if k % 3):
        if total <= x[i]:
            total += k
    return total


def _steps(i):
    if i == 0:
        return 0
    n = i
    return min(21, bin(n).count("1") + n.bit_length() - 1)


def _down(i):
    value = 0
    for k in list(range(i % 2, i + 1, 2))[::-1]:
        value = (value * 3 + k) % 1000
    return value


def _chain(y, x):
    odd = x % 2 == 1
    rules = [x < -10, x < 0, x == 0, x < 10, odd]
    return (np.select(rules, [1, 2, 3, 4, 5], 6).astype(np.int32),)


def _compared(y, a, b):
    first = (a >= 0) & (a < b) & (b <= 9)
    second = (a == b) & (b != 3)
    return ((first + 2 * second + 4 * ((b > -5) & (b > a))).astype(np.int32),)


def _bottoms(y, x):
    rises = np.diff(x) > 0
    falls = np.diff(x) < 0
    return (~np.append([False], falls) & np.append(rises, [True]),)


def _augmented(y, x):
    v = (x.astype(np.int64) + 17) * 3 - 5
    v = np.floor(v / 4).astype(np.int64) % 97 * 8 // 2
    v = ((v | 5) & 254) ^ 51
    return ((v * v).astype(np.int32),)


def _elements(y, x):
    i, j = np.indices(y.shape)
    return ((((y + x) * 2 - i) // 3 ^ j).astype(np.int32),)


def _truth(y, x, z):
    count = (x != 0) + 2 * (z == 0) + 4 * ((x != 0) & (z > 0))
    while (low := (x > count) & (z != 0)).any():
        count = count + 8 * low
    return (count.astype(np.int32),)


CASES = [
    Case(
        early_return,
        lambda rng: (np.full(100, -7, np.int32), of_x(rng)),
        lambda y, x: (np.where(x < 0, -7, np.where(x > 50, 50, x + 1)).astype(np.int32),),
    ),
    Case(
        return_from_loops,
        lambda rng: (numbers(50), of_x(rng, 9, 0, 25)),
        _by_python(_pair),
    ),
    Case(
        break_and_continue,
        lambda rng: (numbers(100), of_x(rng, 100, -5, 4000)),
        _by_python(_until),
    ),
    Case(
        inner_break_only,
        lambda rng: (numbers(4),),
        _by_python(lambda i: sum((a + b + i) % 2 == 0 for a in range(10) for b in range(a + 1))),
    ),
    Case(while_with_both, lambda rng: (numbers(200),), _by_python(_steps)),
    Case(counted_down, lambda rng: (numbers(40),), _by_python(_down)),
    Case(
        counter_after_the_loop,
        lambda rng: (numbers(12),),
        lambda y: (np.array([-5, 0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7], np.int32),),
    ),
    Case(
        counter_changed_inside,
        lambda rng: (numbers(12),),
        lambda y: (100 + 5 * np.arange(12, dtype=np.int32),),
    ),
    Case(
        range_taken_once,
        lambda rng: (numbers(12),),
        lambda y: (26 + np.arange(12, dtype=np.int32),),
    ),
    Case(long_chain, lambda rng: (numbers(100), of_x(rng, 100, -20, 20)), _chain),
    Case(
        chained_comparisons,
        lambda rng: (numbers(300), of_x(rng, 300, -9, 12), of_x(rng, 300, -9, 12)),
        _compared,
    ),
    Case(short_circuits, lambda rng: (np.zeros(100, np.bool_), of_x(rng)), _bottoms),
    Case(
        conditional_expressions,
        lambda rng: (numbers(100), of_x(rng, 100, -20, 20)),
        lambda y, x: (np.select([x < 0, x == 0, x > 10], [-1, 0, 2], 3).astype(np.int32),),
    ),
    Case(
        evaluates_one_branch,
        lambda rng: (numbers(33), of_x(rng, 33)),
        lambda y, x: (np.roll(x, 1),),
    ),
    Case(
        exchanged,
        lambda rng: (numbers(30), of_x(rng, 30, 1, 9)),
        lambda y, x: (x * 10000 + 2 * x * 100 + (x + 1 + 2 * x),),
    ),
    Case(
        fibonacci,
        lambda rng: (np.zeros(80, np.int64),),
        lambda y: (
            np.array(
                [sum(comb(i - 1 - k, k) for k in range((i + 1) // 2)) for i in range(80)],
                np.int64,
            ),
        ),
    ),
    Case(
        chained_assignment,
        lambda rng: (numbers(30), of_x(rng, 30)),
        lambda y, x: (x * 2002 + 1000,),
    ),
    Case(augmented, lambda rng: (numbers(100), of_x(rng)), _augmented),
    Case(
        augmented_elements,
        lambda rng: (of_x(rng, (7, 9)), of_x(rng, 9)),
        _elements,
    ),
    Case(
        augmented_division,
        lambda rng: (np.zeros(50, np.float32), rng.standard_normal(50).astype(np.float32)),
        lambda y, x: (x / np.float32(8),),
    ),
    Case(
        conditions_of_numbers,
        lambda rng: (
            numbers(100),
            of_x(rng, 100, 0, 40) * of_x(rng, 100, 0, 2),
            (of_x(rng, 100, -1, 2) * 0.5).astype(np.float32),
        ),
        _truth,
    ),
    Case(
        flags,
        lambda rng: (np.zeros(60, np.bool_), of_x(rng, 60, 0, 3)),
        lambda y, x: (np.cumsum(x == 1) % 2 == 1,),
    ),
    Case(
        insertion_in_place,
        lambda rng: (of_x(rng, (12, 17)),),
        lambda x: (np.sort(x, axis=1),),
        ndrange=(12,),
    ),
    Case(
        nested_in_four,
        lambda rng: (numbers(9),),
        _by_python(
            lambda i: sum(
                a * a + b * b + c * c == d * d
                for d in range(i)
                for c in range(d + 1)
                for b in range(c + 1)
                for a in range(b + 1)
            )
        ),
    ),
    Case(
        nothing_but_pass,
        lambda rng: (np.full(7, 9, np.int32),),
        lambda y: (np.array([0, 1, 2, 3, 9, 9, 9], np.int32),),
    ),
    Case(
        assigned_in_both_branches,
        lambda rng: (numbers(50), of_x(rng, 50)),
        lambda y, x: (abs(x) * 10 + np.where(x > 0, 1, -1).astype(np.int32),),
    ),
]
