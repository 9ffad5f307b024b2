"""Compiled functions compute what the functions compute, to the bit: odd values, and zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiled_arrays import host
from hypothesis import given, settings
from hypothesis import strategies as st

import portarray as pa
from portarray.errors import DTypeNotSupportedError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

INF, NAN = float("inf"), float("nan")
REAL = (0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 0.1, 1e30, -1e30, INF, -INF, NAN)
WHOLE = (0, 1, -1, 2, 7, -7, 127, -128, 2**31 - 1, -(2**31), -(2**31) + 1)

FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "a quotient of infinities": lambda x, y: x // y,
    "a remainder": lambda x, y: x % y,
    "a sign": lambda x, y: pa.sign(x) / 1e30,
    "0 * x": lambda x, y: 0 * x + 1,
    "x + 0.0": lambda x, y: x + 0.0,
    "0.0 + x": lambda x, y: 0.0 + x,
    "x - -0.0": lambda x, y: x - (-0.0),
    "x + zeros": lambda x, y: x + pa.zeros_like(x),
    "x * zeros": lambda x, y: x * pa.zeros_like(x),
    "x + 0 * y": lambda x, y: x + y * 0,
    "a choice of -0.0": lambda x, y: pa.where(x > y, x, -0.0),
    "copysign": lambda x, y: pa.copysign(pa.where(y == y, y, 0.0), -0.0),
    "x ** 2": lambda x, y: x**2,
    "1 / x": lambda x, y: 1 / x,
    "an integer": lambda x, y: pa.astype(pa.clip(pa.where(x == x, x, 0.0), -100, 100), pa.int32),
}
INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "a quotient": lambda x, y: (x // y, x // 127, x // -1),
    "a remainder": lambda x, y: (x % y, x % 127, x % -1),
    "overflow": lambda x, y: (x + y, x * y, x - y, pa.square(x)),
    "the sign of an overflow": lambda x, y: (pa.sign(-x), -x > 0),
    "differences and sums that are -x": lambda x, y: (
        *((-3 - (x - 3)) // 3, (x * 2 + x * -3) // 3, (x - (x + x)) // 3, pa.sign(3 - (x + 3))),
        *(2 - (x + 2) < 0, pa.maximum(y - (y + x), x), pa.astype(2 - (x + 2), pa.float32)),
    ),
    "a limited square": lambda x, y: pa.clip(pa.square(x), -1, 1),
    "inverted bits": lambda x, y: ~pa.maximum(x, y),
    "negated bits": lambda x, y: (pa.maximum(~x, ~y), (x * -1) // 127, -x // 127),
    "rounded": lambda x, y: pa.astype(pa.round(x + 1), pa.float32),
    "powers": lambda x, y: x**3,
    "shifts": lambda x, y: (x << 3, x >> 2),
    "an absolute value": lambda x, y: (pa.sign(pa.abs(x)), abs(x) - abs(y) < 0, abs(abs(x) - x)),
    "comparisons after an overflow": lambda x, y: (
        *(x + 1 > x, x - 1 < x, x * x >= 0, x**2 >= 0, pa.square(x) >= 0, (x - y < 0) == (x < y)),
        *(x * 2 // 2, -x < 0, pa.maximum(x + 1, x), pa.sign(x * 2), pa.diff(x) > 0),
    ),
}


def assert_equal(compiled: Any, function: Any, *arrays: Any) -> None:
    got, want = compiled(*arrays), function(*arrays)
    for actual, expected in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, want)),
                                strict=True):  # fmt: skip
        assert actual.dtype == expected.dtype
        values, exact = host(actual), host(expected)
        np.testing.assert_array_equal(values, exact)
        if exact.dtype.kind == "f":
            numbers = ~np.isnan(exact)
            np.testing.assert_array_equal(np.signbit(values)[numbers], np.signbit(exact)[numbers])


def pairs(values: Any, device: str, dtype: Any) -> tuple[Any, Any]:
    """Return two arrays that pair each value with each other."""
    x, y = np.meshgrid(np.asarray(values, dtype), np.asarray(values, dtype))
    return pa.asarray(x.ravel(), device=device), pa.asarray(y.ravel(), device=device)


def test_minus_zero_plus_zero_is_zero() -> None:
    x = pa.asarray([-0.0, 0.0, 2.0], device="numpy")
    assert str(pa.compile(lambda x: x + 0.0)(x).tolist()) == "[0.0, 0.0, 2.0]"


def test_floats_are_equal_to_the_bit(device: str, fuses: None) -> None:
    functions = tuple(FLOATS.values())

    def every(x: Any, y: Any) -> Any:
        return tuple([function(x, y) for function in functions])

    assert_equal(pa.compile(every), every, *pairs(REAL, device, np.float32))


def test_integers_wrap_as_they_do_in_calls(device: str, fuses: None) -> None:
    def every(x: Any, y: Any) -> Any:
        results = [function(x, y) for function in INTEGERS.values()]
        return tuple([x for r in results for x in (r if isinstance(r, tuple) else (r,))])

    assert_equal(pa.compile(every), every, *pairs(WHOLE, device, np.int32))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_comparisons_of_drawn_integers_that_overflow(device: str, dtype: str, fuses: None) -> None:
    """Compilers of C++ assume that signed integers do not overflow; Intel's, that -x does not."""
    rng = np.random.default_rng(sum(device.encode()) + len(dtype))
    limits = np.iinfo(dtype)
    near = [0, limits.min, limits.max, limits.max // 2]
    x, y = (rng.choice(near, 50) + rng.integers(0, 3, 50) for _ in "xy")
    numbers = rng.integers(-3, 4, 12).tolist()
    operators = rng.integers(0, 5, (12, 3)).tolist()

    def every(x: Any, y: Any) -> Any:
        results = []
        for number, (first, second, last) in zip(numbers, operators, strict=True):
            z = (x + number, x - y, x * number, -x, abs(x))[first]
            z = (z + x, y - z, z * z, number - z, z + number)[second]
            results.append((z > x, z < 0, z // 3, z >= z - 1, pa.maximum(z, y))[last])
        return tuple(results)

    x, y = (pa.asarray(np.asarray(v, dtype), device=device) for v in (x, y))
    assert_equal(pa.compile(every), every, x, y)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
@pytest.mark.parametrize("target", ["numpy", "clarray"])
def test_bounds_of_clip_have_the_dtype_of_the_array(target: str, dtype: Any, fuses: None) -> None:
    if target not in {pa.device(d).library for d in pa.devices()}:
        pytest.skip(f"no {target}")
    limits = np.iinfo(dtype)
    x = pa.asarray([limits.min, limits.max, 3, 1], dtype=dtype, device=target)
    bounds = pa.asarray([-3, 300, 2**40, -(2**40)], dtype=pa.int64, device=target)

    def clipped(x: Any, y: Any) -> Any:
        return pa.clip(x + 0, -1000, y) // 2

    assert_equal(pa.compile(clipped), clipped, x, bounds)


def test_an_integer_beyond_the_range_is_one_integer(fuses: None) -> None:
    x = pa.asarray([INF, -INF, NAN, 1e30, -1e30, 300.7, -0.5], dtype=pa.float16, device="numpy")
    n, back, small = pa.compile(
        lambda x: (n := pa.astype(x * 2, pa.int8), pa.astype(n, pa.float32) + 0.0, n < 100)
    )(x)
    assert n.tolist() == [127, -128, -128, 127, -128, 127, -1]  # NaN is the lowest
    np.testing.assert_array_equal(host(back), host(n).astype(np.float32))
    np.testing.assert_array_equal(host(small), host(n) < 100)


def test_a_negative_power_of_an_integer_is_an_error(fuses: None) -> None:
    x, y = (pa.asarray(v, device="numpy") for v in ([2, 3], [1, 2]))
    power = pa.compile(lambda x, y: (x + 1) ** y + 1)
    assert power(x, y).tolist() == [4, 17]
    with pytest.raises(ValueError, match="negative"):
        power(x, -y)


def test_groups_of_calls_do_not_need_each_other(fuses: None) -> None:
    """Calls before and after a call of another group are not one kernel."""

    def function(x: Any, y: Any) -> Any:
        a = x + 1
        b, c = pa.exp(y), pa.reshape(a, (1, 4))
        d = pa.sum(b, axis=0) + pa.exp(pa.sum(pa.matmul(c, y), axis=0))
        return a * d, b * pa.flip(d) + c, d - a

    x, y = (pa.asarray(v, device="numpy") for v in (np.arange(4.0), np.arange(16.0).reshape(4, 4)))
    for got, want in zip(pa.compile(function)(x, y), function(x, y), strict=True):
        np.testing.assert_allclose(host(got), host(want), rtol=1e-12)


def test_the_imaginary_part_of_one_boolean() -> None:
    x = pa.asarray(0.5, device="numpy")
    assert pa.compile(lambda x: (x > 0).imag)(x).dtype == (x > 0).imag.dtype


@settings(max_examples=15)
@given(st.lists(st.sampled_from(REAL), min_size=1, max_size=40), st.data())
def test_drawn_scalars_are_equal_to_the_bit(values: list[float], data: Any) -> None:
    operators = [np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.copysign]
    names = [data.draw(st.sampled_from(operators)).__name__ for _ in range(3)]
    numbers = [data.draw(st.sampled_from(REAL)) for _ in range(3)]

    def function(x: Any) -> Any:
        for name, value in zip(names, numbers, strict=True):
            x = getattr(pa, name)(x, value)
        return x * 1

    kind = type(pa.device("numpy")._backend)
    cost, kind.launch_cost = kind.launch_cost, 0
    try:
        assert_equal(pa.compile(function), function, pa.asarray(values, device="numpy"))
    finally:
        kind.launch_cost = cost


def test_arrays_made_inside_take_index_arrays_of_arguments(device: str) -> None:
    def function(indices: pa.Array) -> tuple[pa.Array, pa.Array]:
        y = pa.zeros(3, dtype=pa.float32, device=device)
        y[indices] = 1
        return y, pa.arange(3, device=device)[indices]

    indices = pa.asarray([2, 0], device=device)
    results = pa.compile(function)(indices)
    for result, expected in zip(results, function(indices), strict=True):
        assert result.tolist() == expected.tolist()


def test_small_numbers_and_the_lowest_integer(device: str) -> None:
    """Compilers of libraries lose digits of atanh, and take abs of integers for positive."""
    x = pa.asarray(
        np.array([-7.6e-19, 1e-30, 1e-5, -0.3, 0.99, 1.0, -0.0], np.float32), device=device
    )
    got = np.asarray(pa.compile(lambda x: pa.atanh(x) * 1)(x))
    with np.errstate(divide="ignore"):
        want = np.arctanh(np.asarray(x))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert np.signbit(got[-1])
    for dtype in (pa.int8, pa.int32, pa.int64):
        lowest = pa.iinfo(dtype).min
        try:
            n = pa.asarray([lowest, lowest + 1, 3], dtype=dtype, device=device)
        except TypeError:
            continue
        for call in (pa.compile(lambda n: pa.sign(pa.abs(n))), lambda n: pa.sign(pa.abs(n))):
            assert np.asarray(call(n)).tolist() == [-1, 1, 1]


def test_counts_below_zero_shift_out_all_bits_but_the_sign(device: str) -> None:
    """The standard leaves such counts undefined; they do as in NumPy."""
    for dtype in (pa.int8, pa.int32):
        x = pa.asarray([-1, -5, 5, -8], dtype=dtype, device=device)
        counts = pa.asarray([-1, -3, -1, 2], dtype=dtype, device=device)
        for call in (pa.compile(lambda x, n: x >> n), lambda x, n: x >> n):
            assert np.asarray(call(x, counts)).tolist() == [-1, -1, 0, -2]
        assert np.asarray(x >> -1).tolist() == [-1, -1, 0, -1]
        y = x.copy()
        y >>= counts
        assert np.asarray(y).tolist() == [-1, -1, 0, -2]


def test_assignments_to_equal_arrays_are_apart(device: str) -> None:
    """Equal calls run once: an assignment to their result changes one of the two arrays."""

    def assigned(v: Any) -> Any:
        a, b = pa.zeros_like(v), pa.zeros_like(v)
        a[0] = v[1]
        b[1:] = v[:2]
        return a + b

    x = pa.asarray([1.0, 2.0, 3.0], dtype=pa.float32, device=device)
    assert pa.compile(assigned)(x).tolist() == [2.0, 1.0, 2.0]
    assert pa.compile(pa.grad(lambda v: v[0] + v[1]))(x).tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_numbers_have_the_dtype_of_the_array_beside_them(device: str, dtype: str) -> None:
    values = np.asarray([*REAL, 3.4e38, 1e-30, -6e-8, 65504.0])

    def exact(x: Any) -> Any:
        return x - 0.1, 0.1 - x, x + 1e30, 1e30 * x, x < 0.1, x // 0.1, pa.nextafter(x, 3.0)

    def near(x: Any) -> Any:
        return pa.expm1(x), pa.acosh(x), pa.log1p(x), pa.asinh(x)

    try:
        x = pa.astype(pa.asarray(values, dtype=pa.float32, device=device), getattr(pa, dtype))
    except DTypeNotSupportedError:
        pytest.skip(f"no {dtype}")

    def single(y: Any) -> Any:
        return y if y.dtype == pa.bool else pa.astype(y, pa.float32)

    assert_equal(
        lambda x: tuple(map(single, pa.compile(exact)(x))),
        lambda x: tuple(map(single, exact(x))),
        x,
    )
    for got, want in zip(pa.compile(near)(x), near(x), strict=True):
        got, want = host(single(got)), host(single(want))
        np.testing.assert_allclose(got, want, 1e-2 if dtype != "float32" else 1e-6)
        zeros = want == 0
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


@pytest.mark.parametrize("number", [complex(NAN, 1), complex(1, INF), complex(-0.0, NAN)])
def test_odd_complex_numbers(number: complex, device: str) -> None:
    """MLX writes a complex NaN so that its C++ compiler refuses it when the result is read."""
    x = pa.asarray([1 + 2j, 0, -3j], dtype=pa.complex64, device=device)
    compiled = pa.compile(lambda x: (x != number, pa.where(x == x, number, x)))
    for got, want in zip(compiled(x), (np.ones(3, bool), np.full(3, number)), strict=True):
        np.testing.assert_array_equal(host(got), want)
