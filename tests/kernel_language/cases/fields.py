"""Grids and images: stencils, cellular automata, sampling, filters."""

from __future__ import annotations

import math

import numpy as np
from cases.case import Case

import portarray.kernel_language as kl

SOBEL = (1, 0, -1, 2, 0, -2, 1, 0, -1)


def five_points(y, x):
    i, j = kl.index()
    m, n = x.shape
    if 0 < i < m - 1 and 0 < j < n - 1:
        y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) - x[i, j]
    else:
        y[i, j] = 0.0


def heat_in_three(y, x, rate):
    i, j, k = kl.index()
    here = x[i + 1, j + 1, k + 1]
    around = x[i, j + 1, k + 1] + x[i + 2, j + 1, k + 1]
    around += x[i + 1, j, k + 1] + x[i + 1, j + 2, k + 1]
    around += x[i + 1, j + 1, k] + x[i + 1, j + 1, k + 2]
    y[i, j, k] = here + rate * (around - 6.0 * here)


def life(after, previous):
    i, j = kl.index()
    rows, columns = previous.shape
    alive = 0
    for di in kl.unroll(range(-1, 2)):
        for dj in kl.unroll(range(-1, 2)):
            if di != 0 or dj != 0:
                alive += previous[(i + di) % rows, (j + dj) % columns]
    after[i, j] = 1 if alive == 3 or (alive == 2 and previous[i, j] == 1) else 0


def mandelbrot(counts, x0, y0, step, limit):
    i, j = kl.index()
    cr = x0 + j * step
    ci = y0 + i * step
    zr = kl.float64(0)
    zi = kl.float64(0)
    n = 0
    while n < limit and zr * zr + zi * zi <= 4.0:
        zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
        n += 1
    counts[i, j] = n


def julia_set(inside, re, im, cr, ci):
    i, j = kl.index()
    a = re[j]
    b = im[i]
    for _ in range(30):
        a, b = a * a - b * b + cr, 2 * a * b + ci
        if a * a + b * b > 4:
            inside[i, j] = False
            return
    inside[i, j] = True


def bilinear(y, image, rows, columns):
    k = kl.index()
    m, n = image.shape
    u = min(max(rows[k], 0.0), m - 1.0)
    v = min(max(columns[k], 0.0), n - 1.0)
    i = min(int(u), m - 2)
    j = min(int(v), n - 2)
    a = u - i
    b = v - j
    top = image[i, j] * (1 - b) + image[i, j + 1] * b
    bottom = image[i + 1, j] * (1 - b) + image[i + 1, j + 1] * b
    y[k] = top * (1 - a) + bottom * a


def marching_squares(codes, field, level):
    i, j = kl.index()
    code = 0
    if field[i, j] > level:
        code |= 1
    if field[i, j + 1] > level:
        code |= 2
    if field[i + 1, j + 1] > level:
        code |= 4
    if field[i + 1, j] > level:
        code |= 8
    codes[i, j] = code


def edge_crossings(y, field, level):
    i, j = kl.index()
    a = field[i, j] - level
    b = field[i, j + 1] - level
    y[i, j] = a / (a - b) if (a > 0) != (b > 0) else -1.0


def sobel(y, x):
    i, j = kl.index()
    across = 0
    down = 0
    for a in kl.unroll(range(3)):
        for b in kl.unroll(range(3)):
            across += SOBEL[3 * a + b] * kl.int32(x[i + a, j + b])
            down += SOBEL[3 * b + a] * kl.int32(x[i + a, j + b])
    y[i, j] = abs(across) + abs(down)


def to_gray(y, x):
    i, j = kl.index()
    total = kl.int32(x[i, j, 0]) * 299 + kl.int32(x[i, j, 1]) * 587 + kl.int32(x[i, j, 2]) * 114
    y[i, j] = kl.uint8((total + 500) // 1000)


def box_blur(y, x, radius):
    i, j = kl.index()
    m, n = x.shape
    total = 0
    count = 0
    for a in range(max(i - radius, 0), min(i + radius + 1, m)):
        for b in range(max(j - radius, 0), min(j + radius + 1, n)):
            total += x[a, b]
            count += 1
    y[i, j] = total // count


def convolve(y, x, weights):
    i = kl.index()
    n = x.shape[0]
    width = len(weights)
    total = kl.float32(0)
    for k in range(width):
        source = i + k - width // 2
        if source < 0 or source >= n:
            continue
        total += x[source] * weights[width - 1 - k]
    y[i] = total


def max_pool(y, where, x):
    i, j = kl.index()
    best = x[2 * i, 2 * j]
    position = 0
    for k in range(1, 4):
        value = x[2 * i + k // 2, 2 * j + k % 2]
        if value > best:
            best = value
            position = k
    y[i, j] = best
    where[i, j] = position


def distance_to_seeds(y, nearest, seeds):
    i, j = kl.index()
    best = 1 << 30
    for s in range(seeds.shape[0]):
        di = i - seeds[s, 0]
        dj = j - seeds[s, 1]
        d = di * di + dj * dj
        if d < best:
            best = d
            nearest[i, j] = s
    y[i, j] = best


def ordered_dither(y, x, pattern):
    i, j = kl.index()
    y[i, j] = 255 if x[i, j] > pattern[i & 3, j & 3] * 16 + 8 else 0


def spread_labels(labels, mask, changed):
    i, j = kl.index()
    if not mask[i, j]:
        return
    m, n = mask.shape
    best = labels[i, j]
    if i > 0 and mask[i - 1, j]:
        best = min(best, i * n - n + j)
    if j > 0 and mask[i, j - 1]:
        best = min(best, i * n + j - 1)
    if i < m - 1 and mask[i + 1, j]:
        best = min(best, i * n + n + j)
    if j < n - 1 and mask[i, j + 1]:
        best = min(best, i * n + j + 1)
    if best < labels[i, j]:
        labels[i, j] = best
        kl.atomic_add(changed, 0, 1)


def wave_step(after, now, previous, speed):
    i = kl.index()
    n = now.shape[0]
    if i == 0 or i == n - 1:
        after[i] = 0
        return
    after[i] = 2 * now[i] - previous[i] + speed * (now[i - 1] - 2 * now[i] + now[i + 1])


def spheres_hit(depth, spheres):
    i, j = kl.index()
    x = (j - 7.5) / 8
    y = (i - 7.5) / 8
    nearest = math.inf
    for s in range(spheres.shape[0]):
        dx = x - spheres[s, 0]
        dy = y - spheres[s, 1]
        under = spheres[s, 3] * spheres[s, 3] - dx * dx - dy * dy
        if under >= 0:
            z = spheres[s, 2] - math.sqrt(under)
            if z < nearest:
                nearest = z
    depth[i, j] = nearest


def of_x(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def _five(y, x):
    y = np.zeros_like(x)
    around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    y[1:-1, 1:-1] = np.float32(0.25) * around - x[1:-1, 1:-1]
    return (y,)


def _heat(y, x, rate):
    inner = slice(1, -1)
    around = x[:-2, inner, inner] + x[2:, inner, inner]
    around = around + (x[inner, :-2, inner] + x[inner, 2:, inner])
    around = around + (x[inner, inner, :-2] + x[inner, inner, 2:])
    here = x[inner, inner, inner]
    return (here + np.float32(rate) * (around - 6 * here),)


def _life(after, previous):
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    alive = sum(np.roll(previous, shift, (0, 1)) for shift in shifts)
    return (((alive == 3) | ((alive == 2) & (previous == 1))).astype(previous.dtype),)


def _mandelbrot(counts, x0, y0, step, limit):
    i, j = np.indices(counts.shape)
    cr, ci = x0 + j * step, y0 + i * step
    zr, zi = np.zeros(counts.shape), np.zeros(counts.shape)
    for _ in range(limit):
        going = zr * zr + zi * zi <= 4
        counts += going
        zr, zi = (
            np.where(going, zr * zr - zi * zi + cr, zr),
            np.where(going, 2 * zr * zi + ci, zi),
        )
    return (counts,)


def _julia(inside, re, im, cr, ci):
    cr, ci = np.float32(cr), np.float32(ci)
    a, b = np.meshgrid(re, im)
    inside = np.ones(a.shape, np.bool_)
    for _ in range(30):
        a, b = a * a - b * b + cr, 2 * a * b + ci
        inside &= a * a + b * b <= 4
    return (inside,)


def _bilinear(y, image, rows, columns):
    m, n = image.shape
    u = np.clip(rows.astype(np.float64), 0, m - 1)
    v = np.clip(columns.astype(np.float64), 0, n - 1)
    hat_u = np.maximum(0, 1 - abs(u[:, None] - np.arange(m)))
    hat_v = np.maximum(0, 1 - abs(v[:, None] - np.arange(n)))
    return (np.einsum("ki,ij,kj->k", hat_u, image, hat_v).astype(np.float32),)


def _squares(codes, field, level):
    above = (field > level).astype(np.int32)
    corners = above[:-1, :-1], above[:-1, 1:], above[1:, 1:], above[1:, :-1]
    return (sum(corner << k for k, corner in enumerate(corners)).astype(np.uint8),)


def _crossings(y, field, level):
    a, b = field[:, :-1] - np.float32(level), field[:, 1:] - np.float32(level)
    return (np.where(np.sign(a) * np.sign(b) < 0, a / (a - b), np.float32(-1)),)


def _sobel(y, x):
    x = x.astype(np.int32)
    weights = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3))
    across, down = (np.einsum("ijab,ab->ij", windows, w) for w in (weights, weights.T))
    return ((abs(across) + abs(down)).astype(np.int32),)


def _box(y, x, radius):
    result = np.zeros_like(x)
    for i, j in np.ndindex(*x.shape):
        part = x[max(i - radius, 0) : i + radius + 1, max(j - radius, 0) : j + radius + 1]
        result[i, j] = part.sum() // part.size
    return (result,)


def _pool(y, where, x):
    blocks = x.reshape(y.shape[0], 2, y.shape[1], 2).transpose(0, 2, 1, 3).reshape(*y.shape, 4)
    return blocks.max(axis=2), blocks.argmax(axis=2).astype(np.int32)


def _seeds(y, nearest, seeds):
    i, j = np.indices(y.shape)
    d = (i[..., None] - seeds[:, 0]) ** 2 + (j[..., None] - seeds[:, 1]) ** 2
    return d.min(axis=2).astype(np.int32), d.argmin(axis=2).astype(np.int32)


def _dither(y, x, pattern):
    limits = np.tile(pattern.astype(np.int32), (2, 3)) * 16 + 8
    return (np.where(x > limits, 255, 0).astype(np.uint8),)


def _labels(labels, mask, changed):
    places = np.arange(mask.size).reshape(mask.shape)
    outside = mask.size
    padded = np.pad(np.where(mask, places, outside), 1, constant_values=outside)
    parts = padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]
    best = np.where(mask, np.minimum(places, np.min(parts, axis=0)), labels)
    return best.astype(np.int32), np.array([(best != labels).sum()], np.int32)


def labelled(rng):
    return (
        np.arange(99, dtype=np.int32).reshape(9, 11),
        rng.random((9, 11)) < 0.5,
        np.zeros(1, np.int32),
    )


def _wave(after, now, previous, speed):
    after = np.zeros_like(now)
    bend = now[:-2] - 2 * now[1:-1] + now[2:]
    after[1:-1] = 2 * now[1:-1] - previous[1:-1] + np.float32(speed) * bend
    return (after,)


def _spheres(depth, spheres):
    i, j = np.indices(depth.shape)
    x, y = (j - 7.5) / 8, (i - 7.5) / 8
    depth = np.full(depth.shape, np.inf)
    for a, b, c, r in spheres.astype(np.float64):
        under = r * r - (x - a) ** 2 - (y - b) ** 2
        depth = np.where(under >= 0, np.minimum(depth, c - np.sqrt(abs(under))), depth)
    return (depth.astype(np.float32),)


CASES = [
    *(
        Case(
            five_points,
            lambda rng, shape=shape: (np.ones(shape, np.float32), of_x(rng, *shape)),
            _five,
            variant=f"{shape[0]}x{shape[1]}",
        )
        for shape in ((9, 13), (2, 5), (40, 3))
    ),
    Case(
        heat_in_three,
        lambda rng: (np.zeros((4, 5, 6), np.float32), of_x(rng, 6, 7, 8), 0.1),
        _heat,
    ),
    Case(
        life,
        lambda rng: (np.zeros((12, 17), np.uint8), rng.integers(0, 2, (12, 17)).astype(np.uint8)),
        _life,
    ),
    Case(
        mandelbrot,
        lambda rng: (np.zeros((20, 30), np.int32), -2.1, -1.2, 0.1, 60),
        _mandelbrot,
    ),
    Case(
        julia_set,
        lambda rng: (
            np.zeros((24, 20), np.bool_),
            np.linspace(-1.5, 1.5, 20, dtype=np.float32),
            np.linspace(-1.25, 1, 24, dtype=np.float32),
            -0.75,
            0.125,
        ),
        _julia,
    ),
    Case(
        bilinear,
        lambda rng: (
            np.zeros(80, np.float32),
            of_x(rng, 6, 8),
            rng.uniform(-1, 7, 80).astype(np.float32),
            rng.uniform(-1, 9, 80).astype(np.float32),
        ),
        _bilinear,
        tolerance=2e-6,
    ),
    Case(
        marching_squares,
        lambda rng: (np.zeros((8, 11), np.uint8), of_x(rng, 9, 12), 0.125),
        _squares,
    ),
    Case(
        edge_crossings,
        lambda rng: (np.zeros((9, 11), np.float32), of_x(rng, 9, 12), 0.125),
        _crossings,
    ),
    Case(
        sobel,
        lambda rng: (np.zeros((7, 9), np.int32), rng.integers(0, 256, (9, 11)).astype(np.uint8)),
        _sobel,
    ),
    Case(
        to_gray,
        lambda rng: (np.zeros((7, 9), np.uint8), rng.integers(0, 256, (7, 9, 3)).astype(np.uint8)),
        lambda y, x: (np.floor(x @ [0.299, 0.587, 0.114] + 0.5 + 1e-9).astype(np.uint8),),
    ),
    *(
        Case(
            box_blur,
            lambda rng, radius=radius: (
                np.zeros((8, 9), np.int32),
                rng.integers(0, 99, (8, 9)).astype(np.int32),
                radius,
            ),
            _box,
            variant=str(radius),
        )
        for radius in (0, 1, 10)
    ),
    Case(
        convolve,
        lambda rng: (
            np.zeros(50, np.float32),
            rng.integers(-99, 99, 50).astype(np.float32),
            rng.integers(-9, 9, 7).astype(np.float32),
        ),
        lambda y, x, weights: (np.convolve(x, weights, "same"),),
    ),
    Case(
        max_pool,
        lambda rng: (
            np.zeros((5, 6), np.float32),
            np.zeros((5, 6), np.int32),
            rng.integers(0, 5, (10, 12)).astype(np.float32),
        ),
        _pool,
    ),
    Case(
        distance_to_seeds,
        lambda rng: (
            np.zeros((12, 15), np.int32),
            np.zeros((12, 15), np.int32),
            rng.integers(0, 12, (5, 2)).astype(np.int32),
        ),
        _seeds,
    ),
    Case(
        ordered_dither,
        lambda rng: (
            np.zeros((8, 12), np.uint8),
            rng.integers(0, 256, (8, 12)).astype(np.int32),
            np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]], np.int32),
        ),
        _dither,
    ),
    Case(spread_labels, labelled, _labels),
    Case(
        wave_step,
        lambda rng: (np.ones(60, np.float32), of_x(rng, 60), of_x(rng, 60), 0.25),
        _wave,
    ),
    Case(
        spheres_hit,
        lambda rng: (
            np.zeros((16, 16), np.float32),
            np.column_stack((of_x(rng, 6, 3) * 0.5, rng.uniform(0.2, 0.6, 6))).astype(np.float32),
        ),
        _spheres,
        tolerance=2e-5,
    ),
]
