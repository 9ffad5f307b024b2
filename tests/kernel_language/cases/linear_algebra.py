"""Products, transposes, sparse rows, small systems."""

from __future__ import annotations

import math

import numpy as np
from cases.case import Case

import portarray.kernel_language as kl


def matmul(c, a, b):
    i, j = kl.index()
    total = kl.float32(0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


def matmul_of_integers(c, a, b):
    i, j = kl.index()
    total = kl.int32(0)
    for k in range(a.shape[1]):
        total += kl.int32(a[i, k]) * kl.int32(b[k, j])
    c[i, j] = total


def batched_matvec(y, a, x):
    n, i = kl.index()
    total = 0.0
    for k in range(a.shape[2]):
        total += a[n, i, k] * x[n, k]
    y[n, i] = total


def transpose(y, x):
    i, j = kl.index()
    y[j, i] = x[i, j]


def sparse_rows(y, starts, columns, values, x):
    row = kl.index()
    total = kl.float32(0)
    for k in range(starts[row], starts[row + 1]):
        total += values[k] * x[columns[k]]
    y[row] = total


def sparse_triplets(y, rows, columns, values, x):
    k = kl.index()
    kl.atomic_add(y, rows[k], values[k] * x[columns[k]])


def softmax_of_rows(y, x):
    i = kl.index()
    n = x.shape[1]
    largest = x[i, 0]
    for k in range(1, n):
        largest = max(largest, x[i, k])
    total = 0.0
    for k in range(n):
        y[i, k] = math.exp(x[i, k] - largest)
        total += y[i, k]
    for k in range(n):
        y[i, k] /= total


def normalize_rows(y, x, epsilon):
    i = kl.index()
    n = x.shape[1]
    mean = 0.0
    for k in range(n):
        mean += x[i, k]
    mean /= n
    variance = 0.0
    for k in range(n):
        variance += (x[i, k] - mean) ** 2
    scale = 1.0 / math.sqrt(variance / n + epsilon)
    for k in range(n):
        y[i, k] = (x[i, k] - mean) * scale


def shortest_paths(d):
    i, j = kl.index()
    n = d.shape[0]
    for k in range(n):
        through = d[i, k] + d[k, j]
        kl.barrier()
        if through < d[i, j]:
            d[i, j] = through
        kl.barrier()


def tridiagonal(x, lower, main, upper, right):
    i = kl.index()
    n = right.shape[1]
    c = kl.private(16, kl.float64)
    d = kl.private(16, kl.float64)
    c[0] = upper[i, 0] / main[i, 0]
    d[0] = right[i, 0] / main[i, 0]
    for k in range(1, n):
        scale = main[i, k] - lower[i, k] * c[k - 1]
        c[k] = upper[i, k] / scale
        d[k] = (right[i, k] - lower[i, k] * d[k - 1]) / scale
    x[i, n - 1] = d[n - 1]
    for k in range(n - 2, -1, -1):
        x[i, k] = d[k] - c[k] * x[i, k + 1]


def butterflies(re, im, half):
    i = kl.index()
    k = i % half
    a = i // half * 2 * half + k
    b = a + half
    angle = -math.pi * k / half
    c = kl.float32(math.cos(angle))
    s = kl.float32(math.sin(angle))
    tr = re[b] * c - im[b] * s
    ti = re[b] * s + im[b] * c
    re[b] = re[a] - tr
    im[b] = im[a] - ti
    re[a] += tr
    im[a] += ti


def rotate_by_quaternions(y, q, v):
    i = kl.index()
    w, x, z, u = q[i, 0], q[i, 1], q[i, 2], q[i, 3]
    a, b, c = v[i, 0], v[i, 1], v[i, 2]
    s, t, r = 2 * (z * c - u * b), 2 * (u * a - x * c), 2 * (x * b - z * a)
    y[i, 0] = a + w * s + (z * r - u * t)
    y[i, 1] = b + w * t + (u * s - x * r)
    y[i, 2] = c + w * r + (x * t - z * s)


def of_x(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def small(rng, *shape, dtype=np.int32):
    return rng.integers(-50, 50, shape).astype(dtype)


def _in_order(c, a, b):
    total = np.zeros_like(c)
    for k in range(a.shape[1]):
        total = total + np.outer(a[:, k], b[k])
    return (total,)


def sparse(rng, rows, columns, integers=False):
    counts = rng.integers(0, 5, rows)
    counts[1] = 0
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    places = rng.integers(0, columns, starts[-1]).astype(np.int32)
    return starts, places, small(rng, starts[-1]).astype(np.float32) / np.float32(4)


def _sparse(y, starts, columns, values, x):
    rows = np.repeat(np.arange(y.size), np.diff(starts))
    dense = np.zeros((y.size, x.size))
    np.add.at(dense, (rows, columns), values)
    return ((dense @ x).astype(np.float32),)


def _triplets(y, rows, columns, values, x):
    dense = np.zeros((y.size, x.size))
    np.add.at(dense, (rows, columns), values)
    return ((y + dense @ x).astype(np.float32),)


def _softmax(y, x):
    weights = np.exp(x.astype(np.float64))
    return ((weights / weights.sum(axis=1, keepdims=True)).astype(np.float32),)


def _normalized(y, x, epsilon):
    x = x.astype(np.float64)
    centred = x - x.mean(axis=1, keepdims=True)
    return ((centred / np.sqrt(x.var(axis=1, keepdims=True) + epsilon)).astype(np.float32),)


def _paths(d):
    # By repeated squaring of the tropical matrix.
    for _ in range(4):
        d = np.minimum(d, (d[:, :, None] + d[None]).min(axis=1))
    return (d,)


def paths(rng):
    d = rng.integers(1, 100, (8, 8)).astype(np.int32)
    np.fill_diagonal(d, 0)
    return (d,)


def _tridiagonal(x, lower, main, upper, right):
    n = right.shape[1]
    matrix = np.zeros((len(right), n, n))
    k = np.arange(n)
    matrix[:, k, k] = main
    matrix[:, k[1:], k[:-1]] = lower[:, 1:]
    matrix[:, k[:-1], k[1:]] = upper[:, :-1]
    return (np.linalg.solve(matrix, right[..., None])[..., 0],)


def _butterflies(re, im, half):
    whole = (re.astype(np.float64) + 1j * im).reshape(-1, 2, half)
    turned = whole[:, 1] * np.exp(-1j * np.pi * np.arange(half) / half)
    both = np.stack((whole[:, 0] + turned, whole[:, 0] - turned), axis=1).reshape(-1)
    return both.real.astype(np.float32), both.imag.astype(np.float32)


def _rotated(y, q, v):
    w, x, z, u = q.astype(np.float64).T
    matrix = np.array(
        [
            [1 - 2 * (z * z + u * u), 2 * (x * z - w * u), 2 * (x * u + w * z)],
            [2 * (x * z + w * u), 1 - 2 * (x * x + u * u), 2 * (z * u - w * x)],
            [2 * (x * u - w * z), 2 * (z * u + w * x), 1 - 2 * (x * x + z * z)],
        ]
    )
    return (np.einsum("ijn,nj->ni", matrix, v).astype(np.float32),)


def quaternions(rng, n):
    q = rng.standard_normal((n, 4))
    return (q / np.linalg.norm(q, axis=1, keepdims=True)).astype(np.float32)


CASES = [
    *(
        Case(
            matmul,
            lambda rng, m=m, k=k, n=n: (
                np.zeros((m, n), np.float32),
                of_x(rng, m, k),
                of_x(rng, k, n),
            ),
            _in_order,
            group=group,
            variant=f"{m}x{k}x{n}",
        )
        for m, k, n, group in (
            (7, 5, 9, None),
            (1, 33, 1, None),
            (16, 16, 16, (4, 4)),
            (3, 0, 4, None),
        )
    ),
    Case(
        matmul_of_integers,
        lambda rng: (
            np.zeros((6, 5), np.int32),
            small(rng, 6, 30, dtype=np.int8),
            small(rng, 30, 5, dtype=np.int8),
        ),
        lambda c, a, b: (a.astype(np.int32) @ b.astype(np.int32),),
    ),
    Case(
        batched_matvec,
        lambda rng: (
            np.zeros((3, 5)),
            small(rng, 3, 5, 6).astype(np.float64),
            small(rng, 3, 6).astype(np.float64),
        ),
        lambda y, a, x: (np.einsum("nik,nk->ni", a, x),),
    ),
    Case(
        transpose,
        lambda rng: (np.zeros((9, 5), np.float32), of_x(rng, 5, 9)),
        lambda y, x: (x.T,),
        ndrange=(5, 9),
    ),
    Case(
        sparse_rows,
        lambda rng: (
            np.ones(30, np.float32),
            *sparse(rng, 30, 20),
            small(rng, 20).astype(np.float32),
        ),
        _sparse,
    ),
    Case(
        sparse_triplets,
        lambda rng: (
            np.ones(9, np.float32),
            rng.integers(0, 9, 80).astype(np.int32),
            rng.integers(0, 12, 80).astype(np.int32),
            small(rng, 80).astype(np.float32),
            small(rng, 12).astype(np.float32),
        ),
        _triplets,
        ndrange=(80,),
    ),
    Case(
        softmax_of_rows,
        lambda rng: (np.zeros((12, 9), np.float32), of_x(rng, 12, 9)),
        _softmax,
        ndrange=(12,),
        tolerance=2e-6,
    ),
    Case(
        normalize_rows,
        lambda rng: (np.zeros((12, 20), np.float32), of_x(rng, 12, 20), 1e-5),
        _normalized,
        ndrange=(12,),
        tolerance=2e-6,
    ),
    Case(shortest_paths, paths, _paths, group=(8, 8)),
    Case(
        tridiagonal,
        lambda rng: (
            np.zeros((5, 16)),
            rng.standard_normal((5, 16)),
            rng.standard_normal((5, 16)) + 6,
            rng.standard_normal((5, 16)),
            rng.standard_normal((5, 16)),
        ),
        _tridiagonal,
        ndrange=(5,),
        tolerance=1e-12,
    ),
    *(
        Case(
            butterflies,
            lambda rng, half=half: (of_x(rng, 32), of_x(rng, 32), half),
            _butterflies,
            ndrange=(16,),
            tolerance=2e-6,
            variant=str(half),
        )
        for half in (1, 4, 16)
    ),
    Case(
        rotate_by_quaternions,
        lambda rng: (np.zeros((25, 3), np.float32), quaternions(rng, 25), of_x(rng, 25, 3)),
        _rotated,
        ndrange=(25,),
        tolerance=2e-6,
    ),
]
