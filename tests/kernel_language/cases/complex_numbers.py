"""Complex numbers: operators, functions, constants, arguments, helpers and memory of all kinds."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
from cases.case import Case, Values, View

import portarray as pa
import portarray.kernel_language as kl

ROTATION = 0.6 - 0.8j
PRECISIONS = ((np.complex64, np.float32), (np.complex128, np.float64))


@pa.kernel.function
def swapped(z):
    return complex(z.imag, z.real), -z


@pa.kernel.function
def polynomial(z, factors):
    total = 0j
    for k in kl.unroll(range(len(factors))):
        total = total * z + factors[k]
    return total


def arithmetic(y, x, z, n, scale):
    i = kl.index()
    y[0, i] = x[i] + z[i]
    y[1, i] = x[i] - 2 * z[i] + 1j
    y[2, i] = x[i] * z[i] - n[i]
    y[3, i] = scale * x[i] + n[i] * (1 - 2j)
    y[4, i] = -x[i] + (+z[i])
    y[5, i] = x[i] ** 2 + pa.square(z[i])


def quotients(y, x, z):
    i = kl.index()
    y[0, i] = x[i] / z[i]
    y[1, i] = 1 / z[i]
    y[2, i] = pa.reciprocal(x[i]) / 3


def functions(y, r, x, z):
    i = kl.index()
    y[0, i] = pa.conj(x[i]) + np.conj(z[i]) * x[i].real
    y[1, i] = cmath.exp(x[i]) * 1j
    y[2, i] = pa.exp(z[i] * 1j)
    y[3, i] = complex(r[0, i] * 0 + 1, 2) + cmath.exp(0.5) + kl.complex64(0.5, 1)
    r[0, i] = abs(x[i]) + pa.abs(z[i])
    r[1, i] = pa.real(x[i]) - z[i].imag + pa.imag(r[2, i])


def comparisons(b, x, z):
    i = kl.index()
    b[0, i] = x[i] == z[i]
    b[1, i] = x[i] != pa.conj(z[i])
    b[2, i] = not x[i]
    b[3, i] = bool(x[i]) and z[i] != 0 and x[i].real < z[i].real
    b[4, i] = pa.isnan(x[i]) or cmath.isinf(z[i]) or not pa.isfinite(x[i] + z[i])


def choices(y, x, z, shift):
    i = kl.index()
    t, u = swapped(x[i])
    if t == 2j or not u:
        t = z[i] if x[i].real > 0 else ROTATION
    elif u.real < 0:
        t -= pa.where(u.imag > 0, shift, 1.0)
    shift *= u
    y[i] = (t or 3.0) + shift * polynomial(u, (1, 0.5j, -2.0))


def reversed_in_groups(y, x):
    i, here = kl.index(), kl.local_index()
    shared = kl.local(8, x.dtype)
    halves = kl.private(2, x.dtype)
    shared[here] = x[i] * 1j
    kl.barrier()
    halves[0] = shared[7 - here]
    halves[1] = halves[0] + shared[here]
    kl.barrier()
    y[i] = halves[1] if here % 2 else halves[0]


def julia_set(counts, real, imag, c):
    i, j = kl.index()
    z = complex(real[j], imag[i])
    n = 0
    while n < 40 and abs(z) <= 2.0:
        z = z * z + c
        n += 1
    counts[i, j] = n


def fourier(y, x, sign):
    k = kl.index()
    total = kl.complex64(0)
    for n in range(x.shape[0]):
        turn = sign * 2 * math.pi * float(k * n % x.shape[0]) / x.shape[0]
        total += x[n] * complex(math.cos(turn), math.sin(turn))
    y[k] = total


def transposed(y, x):
    i, j = kl.index()
    y[i, j] = pa.conj(x[i, j])


def drawn(rng: np.random.Generator, dtype: Any, *shape: int) -> Values:
    parts = rng.uniform(-2, 2, (2, *shape))
    return (parts[0] + 1j * parts[1]).astype(dtype)


def _choices(y: Values, x: Values, z: Values, shift: complex) -> tuple[Values]:
    def multiply(a: complex, b: complex) -> complex:
        t, u = complex(a.imag, a.real), -a
        if t == 2j or not u:
            t = b if a.real > 0 else ROTATION
        elif u.real < 0:
            t -= shift if u.imag > 0 else 1.0
        return (t or 3.0) + shift * u * ((u + 0.5j) * u - 2)

    return (
        np.array([multiply(*pair) for pair in zip(x.tolist(), z.tolist(), strict=True)], y.dtype),
    )


def _reversed(y: Values, x: Values) -> tuple[Values]:
    turned = (x * 1j).reshape(-1, 8)
    reverse = turned[:, ::-1]
    return (np.where(np.arange(8) % 2, reverse + turned, reverse).reshape(-1),)


def _julia(counts: Values, real: Values, imag: Values, c: complex) -> tuple[Values]:
    z = (real[None, :] + 1j * imag[:, None]).astype(np.complex64)
    counts = np.zeros_like(counts)
    for _ in range(40):
        inside = np.abs(z) <= 2
        counts += inside
        z = np.where(inside, z * z + np.complex64(c), z)
    return (counts,)


def special(rng: np.random.Generator, dtype: Any) -> Values:
    """Return numbers with zeros, infinities and NaN."""
    parts = rng.choice([0.0, -0.0, 1.0, 2.5, np.inf, -np.inf, np.nan], (2, 64))
    out = np.zeros(64, dtype)
    out.real, out.imag = parts
    return out


CASES = [
    case
    for dtype, real in PRECISIONS
    for case in (
        Case(
            arithmetic,
            lambda rng, dtype=dtype: (
                *(drawn(rng, dtype, *shape) for shape in ((6, 64), (64,), (64,))),
                rng.integers(-9, 9, 64).astype(np.int16), 0.5 + 2j,
            ),
            lambda y, x, z, n, scale: (
                np.stack([x + z, x - 2 * z + 1j, x * z - n.astype(x.dtype),
                          scale * x + n.astype(x.dtype) * (1 - 2j), z - x, x * x + z * z]),
            ),
            ndrange=(64,), tolerance=4 * float(np.finfo(real).eps), variant=dtype.__name__,
        ),
        Case(
            quotients,
            lambda rng, dtype=dtype: tuple(drawn(rng, dtype, *s) for s in ((3, 64), (64,), (64,))),
            lambda y, x, z: (np.stack([x / z, 1 / z, 1 / x / 3]),),
            ndrange=(64,), tolerance=8 * float(np.finfo(real).eps), variant=dtype.__name__,
        ),
        Case(
            functions,
            lambda rng, dtype=dtype, real=real: (
                drawn(rng, dtype, 4, 64), np.ones((3, 64), real),
                drawn(rng, dtype, 64), drawn(rng, dtype, 64),
            ),
            lambda y, r, x, z: (
                np.stack([x.conj() + z.conj() * x.real, np.exp(x) * 1j, np.exp(z * 1j),
                          np.full_like(x, 1.5 + 3j + np.exp(0.5))]),
                np.stack([abs(x) + abs(z), x.real - z.imag, r[2]]),
            ),
            ndrange=(64,), tolerance=8 * float(np.finfo(real).eps), variant=dtype.__name__,
        ),
        Case(
            comparisons,
            lambda rng, dtype=dtype: (
                np.zeros((5, 64), bool), special(rng, dtype), special(rng, dtype),
            ),
            lambda b, x, z: (
                np.stack([x == z, x != z.conj(), x == 0,
                          (x != 0) & (z != 0) & (x.real < z.real),
                          np.isnan(x) | np.isinf(z) | ~np.isfinite(x + z)]),
            ),
            ndrange=(64,), variant=dtype.__name__,
        ),
        Case(
            choices,
            lambda rng, dtype=dtype: (
                np.zeros(64, dtype),
                np.where(rng.random(64) < 0.2, rng.choice([0, 2], 64), drawn(rng, dtype, 64))
                .astype(dtype),
                drawn(rng, dtype, 64), 0.25 - 1j,
            ),
            _choices, tolerance=8 * float(np.finfo(real).eps), variant=dtype.__name__,
        ),
        Case(
            reversed_in_groups,
            lambda rng, dtype=dtype: (np.zeros(64, dtype), drawn(rng, dtype, 64)),
            _reversed, group=(8,), variant=dtype.__name__,
        ),
        Case(
            transposed,
            lambda rng, dtype=dtype: (
                View(np.zeros((24, 18), dtype), (slice(1, None, 2), slice(None, None, 3)), True),
                View(drawn(rng, dtype, 6, 24), (slice(None), slice(1, None, 2))),
            ),
            lambda y, x: (x.conj(),), variant=dtype.__name__,
        ),
    )
] + [
    Case(
        julia_set,
        lambda rng: (
            np.zeros((24, 32), np.int32), np.linspace(-1.5, 1.5, 32).astype(np.float32),
            np.linspace(-1, 1, 24).astype(np.float32),
            -0.75 + 0.125j,
        ),
        _julia,
    ),
    Case(
        fourier,
        lambda rng: (np.zeros(32, np.complex64), drawn(rng, np.complex64, 32), -1),
        lambda y, x, sign: (np.fft.fft(x).astype(np.complex64),),
        tolerance=1e-5,
    ),
]  # fmt: skip
