"""Elementwise functions that MLX lacks or gets wrong."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

mx = pytest.importorskip("mlx.core")

from portarray_conformance import ulp  # noqa: E402

import portarray as pa  # noqa: E402
from portarray._array import dispatch  # noqa: E402

xp: Any = pa.namespace("mlx:cpu")
FUNCTIONS = dispatch.functions_of(pa.device("mlx:cpu"))

Values = np.ndarray[Any, Any]

INF, NAN = math.inf, math.nan
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 7.0, 1e30, INF, -INF, NAN]

floats = pytest.mark.parametrize("dtype", ["float32", "float64"])


def of(x: Values) -> Any:
    return mx.array(x, dtype=getattr(mx, "bool_" if x.dtype == bool else x.dtype.name))


def any_bits(dtype: str, count: int = 4000) -> Values:
    """Draw numbers of all magnitudes and special values."""
    info = np.finfo(dtype)
    whole = f"uint{info.bits}"
    bits = np.random.default_rng(5).integers(0, np.iinfo(whole).max, count, whole).view(dtype)
    edges = [info.max, -info.max, info.smallest_subnormal, -info.smallest_subnormal]
    return np.concatenate([np.asarray([*SPECIAL, *edges], dtype), bits])


def grid(values: Values) -> tuple[Values, Values]:
    first, second = np.broadcast_arrays(values[:, None], values)
    return first.ravel().copy(), second.ravel().copy()


def same(result: Any, expected: Values) -> None:
    got = np.asarray(result)
    assert got.dtype == expected.dtype
    for a, b in (
        [(got.real, expected.real), (got.imag, expected.imag)]
        if np.iscomplexobj(expected)
        else [(got, expected)]
    ):
        np.testing.assert_array_equal(a, b)
        zero = b == 0
        np.testing.assert_array_equal(np.signbit(a)[zero], np.signbit(b)[zero])


def within(bound: float, result: Any, expected: Values, *, signed_zeros: bool = True) -> None:
    error = ulp.error(np.asarray(result), expected, signed_zeros=signed_zeros)
    assert error.max() <= bound, f"{error.max():.2f} ULP at element {error.argmax()}"


@floats
@pytest.mark.parametrize("name", ["cos", "exp", "sin"])
def test_exponentials_and_sines_are_right_at_all_magnitudes(name: str, dtype: str) -> None:
    # MLX's own, on the CPU: sin(8e6) has three digits, exp(88.1) is infinite and float64 has no
    # more digits than float32.
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [any_bits(dtype), *(rng.uniform(-s, s, 4000).astype(dtype) for s in (1, 10, 100, 750, 1e6))]
    )
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(ulp.wide(x))
    within(4, getattr(xp, name)(of(x)), expected)


@pytest.mark.parametrize("name", ["cos", "exp", "hypot", "logaddexp", "sin"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_goes_through_float32(name: str, dtype: str) -> None:
    # Every number there is: the answer must be that of float32, rounded.
    bits = mx.array(np.arange(65536).astype(np.uint16))
    x = mx.view(bits, getattr(mx, dtype))
    function = getattr(xp, name)
    operands = [x, mx.array(x[::-1])] if name in ("hypot", "logaddexp") else [x]
    result = function(*operands)
    assert result.dtype == x.dtype
    wide = function(*[operand.astype(mx.float32) for operand in operands]).astype(x.dtype)
    got, expected = (np.asarray(y.astype(mx.float32)) for y in (result, wide))
    np.testing.assert_array_equal(got, expected)


@floats
def test_logaddexp(dtype: str) -> None:
    rng = np.random.default_rng(3)
    x1, x2 = (np.append(x, rng.uniform(2, 60, 4000)).astype(dtype) for x in grid(np.array(SPECIAL)))
    with np.errstate(all="ignore"):
        high = np.maximum(ulp.wide(x1), ulp.wide(x2))
        gap = np.where(high == np.minimum(x1, x2), 0, np.minimum(x1, x2) - high)
        expected = np.where(np.isinf(high), high, high + np.log1p(np.exp(gap)))
    within(4, xp.logaddexp(of(x1), of(x2)), expected, signed_zeros=False)


@floats
def test_sign_of_nan_is_nan(dtype: str) -> None:
    x = any_bits(dtype)
    with np.errstate(invalid="ignore"):
        same(xp.sign(of(x)), np.sign(x))


@floats
@pytest.mark.parametrize("name", ["copysign", "nextafter"])
def test_signs_and_neighbours(name: str, dtype: str) -> None:
    x1, x2 = grid(any_bits(dtype, 60))
    with np.errstate(all="ignore"):
        same(getattr(xp, name)(of(x1), of(x2)), getattr(np, name)(x1, x2))
    same(xp.signbit(of(x1)), np.signbit(x1))


def test_signs_of_views_with_other_strides() -> None:
    x = np.arange(-6.0, 6.0, dtype=np.float32).reshape(3, 4)
    turned, row = of(x).T, mx.broadcast_to(of(x[:1, ::2]), (4, 2))
    same(xp.signbit(turned), np.signbit(x.T))
    same(xp.copysign(turned[:, :1], row), np.copysign(x.T[:, :1], x[:1, ::2].repeat(4, 0)))


@floats
def test_hypot(dtype: str) -> None:
    x1, x2 = grid(any_bits(dtype, 60))
    with np.errstate(all="ignore"):
        within(4, xp.hypot(of(x1), of(x2)), np.hypot(ulp.wide(x1), ulp.wide(x2)))


@floats
def test_remainders_have_the_sign_of_the_divisor(dtype: str) -> None:
    x1, x2 = grid(np.asarray([*SPECIAL[:-4], -6.0, 1e-30], dtype))
    with np.errstate(all="ignore"):
        same(xp.remainder(of(x1), of(x2)), np.remainder(x1, x2))


@floats
def test_quotients_are_rounded_down_from_the_exact_one(dtype: str) -> None:
    rng = np.random.default_rng(8)
    x2 = (rng.integers(1, 400, 4000) / 10).astype(dtype)
    whole = rng.integers(-400, 400, 4000)
    x1 = (whole * x2).astype(dtype)  # the rounded quotient is often an integer that is too large
    expected = np.asarray([float(a) // float(b) for a, b in zip(x1, x2, strict=True)], dtype)
    same(xp.floor_divide(of(x1), of(x2)), expected)
    largest = np.finfo(dtype).max
    x1 = np.asarray([largest, -largest, largest, 7.0], dtype)
    x2 = np.asarray([-0.7 * largest, 0.3 * largest, 0.9 * largest, largest], dtype)
    same(xp.floor_divide(of(x1), of(x2)), np.asarray([-2.0, -4.0, 1.0, 0.0], dtype))
    with np.errstate(all="ignore"):
        x1, x2 = grid(np.asarray([0.0, -0.0, 2.0, -2.0, INF, -INF, NAN], dtype))
        plain = np.isinf(x1) | np.isinf(x2) | (x2 == 0)
        expected = np.where(plain, x1 / x2, np.floor_divide(x1, x2)).astype(dtype)
    same(xp.floor_divide(of(x1), of(x2)), expected)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_integer_division_never_ends_the_process(dtype: str) -> None:
    # The smallest integer by -1 traps on x86: in a process of its own, as that would end this one.
    limits = np.iinfo(dtype)
    code = (
        "import numpy as np, mlx.core as mx\n"
        "import portarray as pa\n"
        "xp = pa.namespace('mlx:cpu')\n"
        f"x = [{limits.min}, {limits.min + 1}, {limits.max}, 0, 1, 7]\n"
        f"y = [{limits.min}, {limits.max}, 0, 1, 3] + [-1, -3] * ({limits.min} < 0)\n"
        f"x, y = np.array(x, '{dtype}'), np.array(y, '{dtype}')\n"
        "x1, x2 = (a.ravel() for a in np.meshgrid(x, y))\n"
        "m1, m2 = mx.array(x1), mx.array(x2)\n"
        "with np.errstate(all='ignore'):\n"
        "    assert (np.asarray(xp.floor_divide(m1, m2)) == x1 // x2).all()\n"
        "    assert (np.asarray(xp.remainder(m1, m2)) == x1 % x2).all()\n"
        "assert xp.floor_divide(m1, 1).dtype == m1.dtype == xp.remainder(1, m1).dtype\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or done.returncode


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_shifts_by_the_width_and_more(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.asarray([limits.min, limits.max, 1, 5, limits.max // 3], dtype)
    steps = np.asarray([0, 1, limits.bits - 1, limits.bits, limits.bits + 1, 100], dtype)
    x1, x2 = (a.ravel() for a in np.meshgrid(x, steps))
    same(xp.bitwise_left_shift(of(x1), of(x2)), np.left_shift(x1, x2))
    same(xp.bitwise_right_shift(of(x1), of(x2)), np.right_shift(x1, x2))
    same(xp.bitwise_right_shift(of(x1), 100), np.right_shift(x1, np.asarray(100, dtype)))


@pytest.mark.parametrize("dtype", SIGNED)
def test_integers_have_no_negative_powers(dtype: str) -> None:
    x = of(np.asarray([2, 3], dtype))
    with pytest.raises(ValueError, match="no negative powers"):
        xp.pow(x, -1)
    same(xp.pow(x, 3), np.asarray([8, 27], dtype))


COMPLEX = np.asarray(
    [complex(a, b) for a, b in itertools.product([0.0, -0.0, 1.0, -2.5, INF, -INF, NAN], repeat=2)],
    np.complex64,
)


def test_complex_log1p_keeps_its_digits_near_0() -> None:
    rng = np.random.default_rng(4)
    size = 10 ** rng.uniform(-30, -1, 2000)
    z = (size * np.exp(1j * rng.uniform(-np.pi, np.pi, 2000))).astype(np.complex64)
    a, b = ulp.wide(z).real, ulp.wide(z).imag
    expected = np.log1p(a * (2 + a) + b * b) / 2 + 1j * np.arctan2(b, 1 + a)
    within(8, xp.log1p(of(z)), expected)


def test_complex_powers_of_0_and_to_the_0() -> None:
    x1 = np.asarray([0, 0, 0, INF, NAN, 2j], np.complex64)
    x2 = np.asarray([0, 2, 1 + 1j, 0, 0, 0], np.complex64)
    np.testing.assert_array_equal(
        np.asarray(xp.pow(of(x1), of(x2))), np.asarray([1, 0, 0, 1, 1, 1], np.complex64)
    )


def test_complex_sign_of_zeros_is_0() -> None:
    z = COMPLEX[~np.isnan(COMPLEX) & np.isfinite(COMPLEX)]
    expected = np.where(z == 0, 0, z / np.where(z == 0, 1, np.abs(z))).astype(np.complex64)
    result = np.asarray(xp.sign(of(z)))
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert not np.signbit(result.real[z == 0]).any()
    assert not np.signbit(result.imag[z == 0]).any()


def test_complex_tanh_at_the_infinite_ends() -> None:
    b = np.asarray([0.0, -0.0, 1.0, 2.0, -2.0, 1e16, -3e4], np.float32)
    z = np.concatenate([b * 1j + INF, b * 1j - INF]).astype(np.complex64)
    z.imag = np.concatenate([b, b])
    expected = np.empty_like(z)
    expected.real, expected.imag = np.sign(z.real), np.copysign(np.float32(0), z.imag)
    same(xp.tanh(of(z)), expected)


@pytest.mark.parametrize("name", ["conj", "imag", "negative", "real", "round"])
def test_parts_of_complex_numbers_keep_the_signs_of_zeros(name: str) -> None:
    same(getattr(xp, name)(of(COMPLEX)), getattr(np, name)(COMPLEX))


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64"])
def test_imaginary_parts_of_real_numbers_are_zeros(dtype: str) -> None:
    same(xp.imag(of(np.asarray([1, 2], dtype))), np.zeros(2, dtype))


def test_integers_beyond_int64_stand_beside_arrays() -> None:
    # MLX reads Python integers as int64.
    x = np.asarray([1, 2**63 + 5, 2**64 - 1], np.uint64)
    same(xp.greater(of(x), 2**63), x > 2**63)
    same(xp.subtract(2**64 - 1, of(x)), np.uint64(2**64 - 1) - x)
    same(xp.multiply(of(np.asarray([2.0])), 2**70), np.asarray([2.0**71]))
    with pytest.raises(OverflowError, match="18446744073709551616 is out of bounds for"):
        xp.add(of(x), 2**64)
    with pytest.raises(OverflowError, match="300 is out of bounds for"):
        xp.add(of(np.asarray([1], np.int8)), 300)


def test_promotion_is_the_standards() -> None:
    dtypes = (*SIGNED, *UNSIGNED, "float32", "float64")
    for first, second in itertools.product(dtypes, repeat=2):
        x1, x2 = of(np.ones(2, first)), of(np.ones(2, second))
        if {first, second} & {"uint64"} and {first, second} & set(SIGNED):
            with pytest.raises(TypeError, match="uint64"):
                xp.add(x1, x2)
            continue
        expected = np.promote_types(first, second)
        if expected.kind == "f":  # the widest of the winning kind
            expected = np.dtype(max(d for d in (first, second) if d.startswith("float")))
        for name in ("add", "maximum", "remainder"):
            assert np.asarray(getattr(xp, name)(x1, x2)).dtype == expected, (first, second)
    with pytest.raises(TypeError, match="complex128"):
        xp.add(of(np.ones(2)), of(np.ones(2, np.complex64)))
    with pytest.raises(TypeError, match="array"):
        xp.add(1, 2)


def test_limits() -> None:
    x = of(np.asarray([-3, 0, 9], np.int8))
    same(xp.clip(x, -2, 1000), np.asarray([-2, 0, 9], np.int8))
    same(xp.clip(x), np.asarray([-3, 0, 9], np.int8))
    same(
        xp.clip(x, of(np.asarray([[0], [1]], np.int8))), np.asarray([[0, 0, 9], [1, 1, 9]], np.int8)
    )
    y = np.asarray([NAN, 1.0, -0.0], np.float32)
    same(xp.clip(of(y), max=0.5), np.asarray([NAN, 0.5, -0.0], np.float32))
    with pytest.raises(OverflowError, match="clip: the bound 1000"):
        xp.clip(x, 1000)


def test_direct_indexing_refuses_what_mlx_would_read_beyond_an_axis() -> None:
    pick: Any = FUNCTIONS.plain("getitem", np.dtype("float32"))
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for key in (0, -3, (2, -1), (slice(1, None), 1), slice(-9, 9)):
        same(pick(of(x), key), np.asarray(x[key]))
    for wrong in (3, -4, (0, 2), (0, 0, 0), slice(0, 3, 0), (slice(0, 3, 0),), ...):
        with pytest.raises(IndexError, match="out of bounds, or not"):
            pick(of(x), wrong)
    with pytest.raises(IndexError, match="out of bounds, or not"):
        pick(mx.array(1.0), 0)


def test_short_calls_are_only_of_exact_functions() -> None:
    assert FUNCTIONS.plain("sum", np.dtype("float16")) is None
    assert FUNCTIONS.plain("divide", np.dtype("int32")) is None
    assert FUNCTIONS.plain("no_such_name", np.dtype(bool)) is None
    assert FUNCTIONS.with_scalar("remainder", np.dtype("int8")) is None
