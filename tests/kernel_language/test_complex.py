"""Complex numbers in kernels: examples, the whole range of quotients, and special values."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from kernel_helpers import require_launcher

import portarray as pa
import portarray.kernel_language as kl

COUNT = 400
SPECIAL = (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, 1e30, -90.0, 95.0, 1e-40, 3e38)


@pa.kernel
def rotated(y: Any, x: Any, angle: Any) -> None:
    i = kl.index()
    y[i] = x[i] * angle + 1 if x[i].real > 0 else -x[i]


@pa.kernel
def divided(quotients: Any, sizes: Any, x: Any, z: Any) -> None:
    i = kl.index()
    quotients[i] = x[i] / z[i]
    sizes[i] = abs(x[i])


@pa.kernel
def every_operator(y: Any, x: Any, z: Any) -> None:
    i = kl.index()
    y[0, i] = x[i] + z[i]
    y[1, i] = x[i] - z[i]
    y[2, i] = x[i] * z[i]
    y[3, i] = x[i] / z[i]
    y[4, i] = 2 * x[i]  # a constant, of which compilers know the part that is 0
    y[5, i] = x[i] * 1j


@pa.kernel
def exponential(y: Any, x: Any) -> None:
    i = kl.index()
    y[i] = pa.exp(x[i])


def put(device: str, dtype: Any, *arrays: Any) -> list[pa.Array]:
    """Return arrays on a device that runs kernels and has a dtype; skip if it does not."""
    require_launcher(device)
    try:
        pa.zeros(1, dtype=dtype, device=device)
    except TypeError as error:
        pytest.skip(str(error))
    return [pa.asarray(x, device=device, copy=True) for x in arrays]


def test_example(device: str) -> None:
    x = np.array([1 + 2j, -1j, -3], np.complex64)
    y, placed = put(device, pa.complex64, np.zeros_like(x), x)
    want = [-1 + 1j, 1j, 3]
    assert np.asarray(rotated(y, placed, 1j)).tolist() == want
    assert np.asarray(rotated.interpret(y, placed, np.complex128(1j))).tolist() == want


def wide(rng: np.random.Generator, dtype: Any) -> Any:
    """Return numbers of the dtype's whole range, with parts near each other and far apart."""
    limits = np.finfo(dtype)
    powers = rng.uniform(np.log2(limits.smallest_subnormal), np.log2(limits.max), (2, COUNT))
    near = rng.random(COUNT) < 0.5
    powers[1, near] = powers[0, near] - rng.uniform(0, 3, near.sum())
    parts = np.exp2(powers) * rng.choice([-1, 1], (2, COUNT))
    first = rng.random(COUNT) < 0.5
    out = np.empty(COUNT, dtype)
    out.real, out.imag = np.where(first, parts, parts[::-1])
    return out


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_quotients_and_sizes_over_the_whole_range(device: str, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    x, z = wide(rng, dtype), wide(rng, dtype)
    limits = np.finfo(dtype)
    arrays = put(device, dtype, np.zeros_like(x), x.real.copy(), x, z)
    quotients, sizes = (np.asarray(out) for out in divided(*arrays))
    largest, smallest = Fraction(float(limits.max)) * 99 / 100, Fraction(float(limits.tiny)) * 4
    checked = 0
    for k in range(COUNT):
        a, b, c, d = (Fraction(float(part)) for n in (x[k], z[k]) for part in (n.real, n.imag))
        scale = c * c + d * d
        want = (a * c + b * d) / scale, (b * c - a * d) / scale
        size = max(map(abs, want))
        if smallest < size < largest:
            assert np.isfinite(quotients[k]), (x[k], z[k], quotients[k])
            p, q = Fraction(float(quotients[k].real)), Fraction(float(quotients[k].imag))
            error = max(abs(p - want[0]), abs(q - want[1]))
            assert error <= size * 3 * Fraction(float(limits.eps)), (x[k], z[k], quotients[k])
            checked += 1
        if smallest**2 < a * a + b * b < largest**2:
            got = Fraction(float(sizes[k])) ** 2
            assert abs(got - a * a - b * b) <= got * 4 * Fraction(float(limits.eps)), x[k]
    assert checked > COUNT // 4


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_special_values_are_the_interpreters(device: str, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        values = np.array([complex(*pair) for pair in itertools.product(SPECIAL, SPECIAL)], dtype)
    rng = np.random.default_rng(1)
    x, z = (np.concatenate([rng.permutation(values) for _ in range(4)]) for _ in range(2))
    y, x_placed, z_placed, e = put(device, dtype, np.zeros((6, x.size), dtype), x, z, values)
    call = {"ndrange": x.shape}
    got = np.asarray(every_operator(y.copy(), x_placed, z_placed, **call))
    want = np.asarray(every_operator.interpret(y, x_placed, z_placed, **call))
    np.testing.assert_array_equal(got.view(got.real.dtype), want.view(want.real.dtype))
    signs = [np.where(np.isnan(parts), False, np.signbit(parts)) for parts in
             (got.view(got.real.dtype), want.view(want.real.dtype))]  # fmt: skip
    np.testing.assert_array_equal(*signs)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(want[2], product(x, z))
        np.testing.assert_array_equal(want[0], x + z)
    got, want = np.asarray(exponential(e.copy(), e)), np.asarray(exponential.interpret(e, e))
    parts = [out.view(out.real.dtype) for out in (got, want)]
    np.testing.assert_allclose(*parts, rtol=8 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)


def product(x: Any, z: Any) -> Any:
    """Return NumPy's products, without the sums that its vectorized code rounds once."""
    out = np.empty_like(x)
    out.real = x.real * z.real - x.imag * z.imag
    out.imag = x.real * z.imag + x.imag * z.real
    return out


def test_double_precision_is_refused_where_there_is_none() -> None:
    x = pa.zeros(3, dtype=pa.complex128, device="numpy")
    with pytest.raises(ValueError, match=r"x is complex128, which metal.*\nHint: pass a complex64"):
        rotated.source("metal", pa.astype(x, pa.complex64), x, 1j)
    assert (
        "c128"
        not in rotated.source("metal", *[pa.astype(x, pa.complex64)] * 2, 1j).partition(
            "kernel void"
        )[2]
    )
    assert "complex128" in str(rotated.explain(x, x.copy(), 1j))


@pa.kernel(static=("constant",))
def filled(y: Any, constant: Any) -> None:
    y[kl.index()] = constant


def test_constants_with_other_signs_of_zero_are_other_programs() -> None:
    x = pa.ones(2, dtype=pa.complex64, device="numpy")
    for constant in (complex(0.0, 1.0), complex(-0.0, 1.0), complex(0.0, 1.0)):
        y = filled(pa.zeros_like(x), constant)
        assert np.signbit(np.asarray(y).real).tolist() == [np.signbit(constant.real)] * 2
