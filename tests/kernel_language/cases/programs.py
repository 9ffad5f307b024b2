"""Small whole programs: clusters, text, sorting, tables, graphs."""

from __future__ import annotations

import math
import zlib
from itertools import permutations

import numpy as np
from cases.case import Case

import portarray.kernel_language as kl


def nearest_centroid(labels, points, centroids):
    i = kl.index()
    best = 0
    least = math.inf
    for c in range(centroids.shape[0]):
        d = 0.0
        for k in range(points.shape[1]):
            d += (points[i, k] - centroids[c, k]) ** 2
        if d < least:
            least = d
            best = c
    labels[i] = best


def sums_of_clusters(sums, counts, points, labels):
    i = kl.index()
    label = labels[i]
    kl.atomic_add(counts, label, 1)
    for k in range(points.shape[1]):
        kl.atomic_add(sums, (label, k), points[i, k])


def edit_distance(y, a, b):
    here = kl.index()
    n = a.shape[0]
    m = b.shape[0]
    table = kl.local((17, 17), kl.int32)
    for d in range(n + m + 1):
        j = d - here
        if here <= n and 0 <= j <= m:
            if here == 0:
                table[here, j] = j
            elif j == 0:
                table[here, j] = here
            else:
                cost = 0 if a[here - 1] == b[j - 1] else 1
                least = min(table[here - 1, j] + 1, table[here, j - 1] + 1)
                table[here, j] = min(least, table[here - 1, j - 1] + cost)
        kl.barrier()
    if here == 0:
        y[0] = table[n, m]


def find_word(y, text, word):
    i = kl.index()
    n = word.shape[0]
    if i + n > text.shape[0]:
        y[i] = False
        return
    for k in range(n):
        if text[i + k] != word[k]:
            y[i] = False
            return
    y[i] = True


def checksum(y, data):
    row = kl.index()
    crc = kl.uint32(0xFFFFFFFF)
    for k in range(data.shape[1]):
        crc ^= kl.uint32(data[row, k])
        for _ in kl.unroll(range(8)):
            if crc & 1 == 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc >>= 1
    y[row] = ~crc


def place_in_order(y, table, x):
    i = kl.index()
    low = 0
    high = table.shape[0]
    while low < high:
        middle = (low + high) // 2
        if table[middle] < x[i]:
            low = middle + 1
        else:
            high = middle
    y[i] = low


def is_prime(y):
    n = kl.index()
    if n < 2:
        y[n] = False
        return
    k = 2
    while k * k <= n:
        if n % k == 0:
            y[n] = False
            return
        k += 1
    y[n] = True


def odd_even_step(x, odd):
    i = 2 * kl.index() + odd
    if i + 1 < x.shape[0] and x[i] > x[i + 1]:
        x[i], x[i + 1] = x[i + 1], x[i]


def rank_sort(y, x):
    i = kl.index()
    rank = 0
    for j in range(x.shape[0]):
        if x[j] < x[i] or (x[j] == x[i] and j < i):
            rank += 1
    y[rank] = x[i]


def breadth_first_level(distance, changed, starts, targets, level):
    node = kl.index()
    if distance[node] != level:
        return
    for k in range(starts[node], starts[node + 1]):
        old = kl.atomic_compare_exchange(distance, targets[k], -1, level + 1)
        if old == -1:
            kl.atomic_add(changed, 0, 1)


def reversed_bits(y, x, width):
    i = kl.index()
    value = 0
    for k in range(width):
        value = value * 2 + (i >> k & 1)
    y[value] = x[i]


def run_lengths(lengths, x):
    i = kl.index()
    if i > 0 and x[i - 1] == x[i]:
        lengths[i] = 0
        return
    j = i + 1
    while j < x.shape[0] and x[j] == x[i]:
        j += 1
    lengths[i] = j - i


def knapsack(best, weights, values):
    here = kl.index()
    rows = kl.local((2, 32), kl.int32)
    rows[0, here] = 0
    kl.barrier()
    for item in range(weights.shape[0]):
        page = item % 2
        value = rows[page, here]
        weight = weights[item]
        if weight <= here:
            value = max(value, rows[page, here - weight] + values[item])
        rows[1 - page, here] = value
        kl.barrier()
    best[here] = rows[weights.shape[0] % 2, here]


def queens(counts, n):
    first = kl.index()
    columns = kl.private(8, kl.int32)
    columns[0] = first
    row = 1
    columns[1] = -1
    result = 0
    while row > 0:
        columns[row] += 1
        if columns[row] == n:
            row -= 1
            continue
        free = True
        for k in range(row):
            d = abs(columns[row] - columns[k])
            if d == 0 or d == row - k:
                free = False
                break
        if not free:
            continue
        if row == n - 1:
            result += 1
        else:
            row += 1
            columns[row] = -1
    counts[first] = result


def _nearest(labels, points, centroids):
    apart = points[:, None].astype(np.float64) - centroids
    return ((apart**2).sum(axis=2).argmin(axis=1).astype(np.int32),)


def _clusters(sums, counts, points, labels):
    np.add.at(sums, labels, points)
    np.add.at(counts, labels, 1)
    return sums, counts


def _edits(y, a, b):
    row = list(range(len(b) + 1))
    for i, a_i in enumerate(a, 1):
        above, row = row, [i]
        for j, b_j in enumerate(b, 1):
            row.append(min(row[-1] + 1, above[j] + 1, above[j - 1] + int(a_i != b_j)))
    return (np.array(row[-1:], np.int32),)


def _word_positions(y, text, word):
    result = np.zeros(y.size, np.bool_)
    start = bytes(text).find(bytes(word))
    while start >= 0:
        result[start] = True
        start = bytes(text).find(bytes(word), start + 1)
    return (result,)


def _checksums(y, data):
    return (np.array([zlib.crc32(row.tobytes()) for row in data], np.uint32),)


def _primes(y):
    sieve = np.arange(y.size) > 1
    for k in range(2, y.size):
        sieve[2 * k :: k] = False
    return (sieve,)


def _step(x, odd):
    end = odd + (x.size - odd) // 2 * 2
    x[odd:end] = np.sort(x[odd:end].reshape(-1, 2)).reshape(-1)
    return (x,)


def graph(rng):
    degrees = rng.integers(0, 4, 30)
    starts = np.concatenate(([0], np.cumsum(degrees))).astype(np.int32)
    distance = np.full(30, -1, np.int32)
    distance[:12:3] = 1
    distance[1:8:3] = 0
    targets = rng.integers(0, 30, starts[-1]).astype(np.int32)
    return distance, np.zeros(1, np.int32), starts, targets, 1


def _level(distance, changed, starts, targets, level):
    sources = np.repeat(np.arange(distance.size), np.diff(starts))
    reached = np.unique(targets[distance[sources] == level])
    new = reached[distance[reached] == -1]
    distance[new] = level + 1
    return distance, np.array([new.size], np.int32)


def _bits(y, x, width):
    order = [int(format(i, f"0{width}b")[::-1], 2) for i in range(x.size)]
    return (x[order],)


def _runs(lengths, x):
    starts = np.flatnonzero(np.append([True], x[1:] != x[:-1]))
    result = np.zeros_like(lengths)
    result[starts] = np.diff(np.append(starts, x.size))
    return (result,)


def _knapsack(best, weights, values):
    row = [0] * 32
    for weight, value in zip(weights.tolist(), values.tolist(), strict=True):
        for room in range(31, weight - 1, -1):
            row[room] = max(row[room], row[room - weight] + value)
    return (np.array(row, np.int32),)


def _queens(counts, n):
    result = np.zeros(n, np.int32)
    for p in permutations(range(n)):
        if len({k + c for k, c in enumerate(p)}) == len({k - c for k, c in enumerate(p)}) == n:
            result[p[0]] += 1
    return (result,)


CASES = [
    Case(
        nearest_centroid,
        lambda rng: (
            np.zeros(60, np.int32),
            rng.standard_normal((60, 3)).astype(np.float32),
            rng.standard_normal((5, 3)).astype(np.float32),
        ),
        _nearest,
    ),
    Case(
        sums_of_clusters,
        lambda rng: (
            np.zeros((5, 3), np.float32),
            np.zeros(5, np.int32),
            rng.integers(-99, 99, (60, 3)).astype(np.float32),
            rng.integers(0, 5, 60).astype(np.int32),
        ),
        _clusters,
        ndrange=(60,),
    ),
    *(
        Case(
            edit_distance,
            lambda rng, n=n, m=m: (
                np.zeros(1, np.int32),
                rng.integers(0, 4, n).astype(np.uint8),
                rng.integers(0, 4, m).astype(np.uint8),
            ),
            _edits,
            ndrange=(32,),
            group=(32,),
            variant=f"{n}-{m}",
        )
        for n, m in ((16, 13), (5, 16), (1, 1))
    ),
    Case(
        find_word,
        lambda rng: (
            np.zeros(80, np.bool_),
            rng.integers(97, 99, 80).astype(np.uint8),
            np.frombuffer(b"abba", np.uint8).copy(),
        ),
        _word_positions,
    ),
    Case(
        checksum,
        lambda rng: (np.zeros(12, np.uint32), rng.integers(0, 256, (12, 9)).astype(np.uint8)),
        _checksums,
    ),
    *(
        Case(
            place_in_order,
            lambda rng, dtype=dtype: (
                np.zeros(60, np.int32),
                np.sort(rng.integers(0, 30, 25)).astype(dtype),
                rng.integers(-2, 33, 60).astype(dtype),
            ),
            lambda y, table, x: (np.searchsorted(table, x).astype(np.int32),),
            variant=dtype.__name__,
        )
        for dtype in (np.int8, np.float32)
    ),
    Case(is_prime, lambda rng: (np.zeros(200, np.bool_),), _primes),
    *(
        Case(
            odd_even_step,
            lambda rng, odd=odd: (rng.integers(0, 99, 41).astype(np.int32), odd),
            _step,
            ndrange=(21,),
            variant=str(odd),
        )
        for odd in (0, 1)
    ),
    Case(
        rank_sort,
        lambda rng: (np.zeros(70, np.int32), rng.integers(0, 20, 70).astype(np.int32)),
        lambda y, x: (np.sort(x),),
    ),
    Case(breadth_first_level, graph, _level, ndrange=(30,)),
    Case(
        reversed_bits,
        lambda rng: (np.zeros(64, np.float32), rng.standard_normal(64).astype(np.float32), 6),
        _bits,
    ),
    Case(
        run_lengths,
        lambda rng: (np.zeros(80, np.int32), rng.integers(0, 2, 80).astype(np.uint8)),
        _runs,
    ),
    Case(
        knapsack,
        lambda rng: (
            np.zeros(32, np.int32),
            rng.integers(1, 12, 9).astype(np.int32),
            rng.integers(1, 50, 9).astype(np.int32),
        ),
        _knapsack,
        group=(32,),
    ),
    Case(queens, lambda rng: (np.zeros(6, np.int32), 6), _queens),
]
