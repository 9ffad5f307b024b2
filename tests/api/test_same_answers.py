"""Results that the standard leaves open are the same on every device.

Small and large arrays are tested, since some backends compute them differently.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest

import portarray as pa

INF, NAN = math.inf, math.nan
SIZES = (1, 3000)  # times the table

# NumPy warns of divisions by zero, as its users expect.
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")


def answered(device: str, name: str, *columns: Any, dtype: str, times: int) -> Any:
    """Return a function's results for a table that is repeated; all repetitions must agree."""
    available = pa.__array_namespace_info__().dtypes(device=device)
    if dtype not in available and dtype != "float16":
        pytest.skip(f"{device} has no {dtype}")
    arrays = [np.tile(np.asarray(column, dtype), times) for column in columns]
    out = getattr(pa, name)(*[pa.asarray(x, device=device) for x in arrays])
    rows = np.asarray(out.to_device("numpy")).reshape(times, -1)
    first = rows[0]
    assert all(row.tobytes() == first.tobytes() or _alike(row, first) for row in rows)
    return first


def _alike(first: Any, second: Any) -> bool:
    return all(map(_same, first.tolist(), second.tolist()))


def _same(got: complex, want: complex) -> bool:
    """Return whether two numbers are equal, including NaN and the signs of zeros."""
    if isinstance(got, complex):
        return _same(got.real, want.real) and _same(got.imag, want.imag)
    if math.isnan(want):
        return math.isnan(got)
    return got == want and math.copysign(1, got) == math.copysign(1, want)


def check(device: str, name: str, table: list[tuple[Any, ...]], dtype: str) -> None:
    """Check a function against rows of a table: operands, then the result."""
    *columns, expected = zip(*table, strict=True)
    for times in SIZES:
        result = answered(device, name, *columns, dtype=dtype, times=times).tolist()
        wrong = [row for row, got in zip(table, result, strict=True) if not _same(got, row[-1])]
        assert wrong == [], (result, expected)


QUOTIENTS = [
    *((INF, 2.0, INF), (-INF, 2.0, -INF), (INF, -2.0, -INF), (2.0, INF, 0.0), (-2.0, INF, -0.0)),
    *((2.0, -INF, -0.0), (INF, INF, NAN), (1.0, 0.0, INF), (0.0, 0.0, NAN), (NAN, 1.0, NAN)),
    *((7.0, 2.0, 3.0), (-7.0, 2.0, -4.0), (7.0, -2.0, -4.0), (-7.0, -2.0, 3.0), (0.0, -3.0, -0.0)),
]
REMAINDERS = [
    *((7.0, 3.0, 1.0), (-7.0, 3.0, 2.0), (7.0, -3.0, -2.0), (-7.0, -3.0, -1.0), (5.5, 2.0, 1.5)),
    *((6.0, -3.0, -0.0), (-6.0, 3.0, 0.0), (1.0, 0.0, NAN), (INF, 2.0, NAN), (NAN, 2.0, NAN)),
]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_real_division(device: str, dtype: str) -> None:
    check(device, "floor_divide", QUOTIENTS, dtype)
    check(device, "remainder", REMAINDERS, dtype)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integer_division(device: str, dtype: str) -> None:
    least = np.iinfo(dtype).min
    pairs = [(7, 2), (-7, 2), (7, -2), (-7, -2), (9, -1), (-9, -1), (9, 1), (0, -1), (100, 7)]
    check(device, "floor_divide", [*((a, b, a // b) for a, b in pairs), (7, 0, 0)], dtype)
    check(device, "remainder", [*((a, b, a % b) for a, b in pairs), (least, -1, 0)], dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_infinities(device: str, dtype: str) -> None:
    infinite_real, both = complex(INF, 1.0), complex(INF, -INF)
    check(device, "add", [(infinite_real, 1j, complex(INF, 2.0)), (both, both, both)], dtype)
    check(device, "subtract", [(infinite_real, 1j, infinite_real - 1j), (both, 1.0, both)], dtype)
    check(
        device,
        "negative",
        [(complex(0.0, -0.0), complex(-0.0, 0.0)), (infinite_real, -infinite_real)],
        dtype,
    )
    flat = [complex(a, b) for a in (INF, -INF) for b in (2.0, -2.0, 0.0, -0.0)]
    expected = [complex(math.copysign(1, z.real), math.copysign(0, z.imag)) for z in flat]
    check(device, "tanh", list(zip(flat, expected, strict=True)), dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_logarithms_of_infinite_numbers_are_infinite(device: str, dtype: str) -> None:
    """Those to base 2 and 10 are multiples of the natural one, whose values the standard lists."""
    parts = (-INF, -1.0, -0.0, 0.0, 1.0, INF, NAN)
    table = [complex(a, b) for a in parts for b in parts]
    for times in SIZES:
        natural = answered(device, "log", table, dtype=dtype, times=times)
        for name, base in (("log2", 2.0), ("log10", 10.0)):
            result = answered(device, name, table, dtype=dtype, times=times)
            for part in (np.real, np.imag):
                expected = part(natural) / math.log(base)
                np.testing.assert_allclose(part(result), expected, 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_signs(device: str, dtype: str) -> None:
    if dtype == "complex64":
        table = [(complex(NAN, 1), complex(NAN, NAN)), (complex(1, NAN), complex(NAN, NAN))]
        table += [(3 + 4j, 0.6 + 0.8j), (0j, 0j), (-2 + 0j, -1 + 0j)]
        for times in SIZES:
            result = answered(device, "sign", [z for z, _ in table], dtype=dtype, times=times)
            for got, (_, want) in zip(result.tolist(), table, strict=True):
                assert cmath.isnan(got) if cmath.isnan(want) else abs(got - want) < 1e-6
        return
    check(device, "sign", [(NAN, NAN), (-3.0, -1.0), (INF, 1.0), (0.0, 0.0)], dtype)


def test_truth_values(device: str) -> None:
    table = [(False, False), (False, True), (True, False), (True, True)]
    x, y = (pa.asarray(list(column), device=device) for column in zip(*table, strict=True))
    for name, expected in {
        "add": [False, True, True, True],
        "multiply": [False, False, False, True],
        "maximum": [False, True, True, True],
        "minimum": [False, False, False, True],
        "less": [False, True, False, False],
    }.items():
        result = getattr(pa, name)(x, y)
        assert (result.tolist(), result.dtype) == (expected, pa.bool)


REDUCTIONS = ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "count_nonzero")


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_over_no_axes(device: str, name: str) -> None:
    values = np.asarray([[1.0, 0.0], [-2.0, 8.0]], np.float32)
    result = getattr(pa, name)(pa.asarray(values, device=device), axis=())
    expected = getattr(np, name)(values, axis=()) if name != "count_nonzero" else values != 0
    assert result.shape == (2, 2)
    np.testing.assert_array_equal(np.asarray(result.to_device("numpy")), expected)


def test_degrees_of_freedom(device: str) -> None:
    values = np.asarray([1.0, 3.0, 8.0], np.float32)
    x = pa.asarray(values, device=device)
    for correction in (0, 0.5, 1, 2, 2.25, 2.75, 2.999):
        expected = np.sum((values - 4) ** 2) / (3 - correction)
        np.testing.assert_allclose(float(pa.var(x, correction=correction)), expected, rtol=1e-3)
        root = float(pa.std(x, correction=correction))
        np.testing.assert_allclose(root, math.sqrt(expected), rtol=1e-3)
    for correction in (3, 3.5, 7):
        assert math.isnan(pa.var(x, correction=correction))


@pytest.mark.parametrize("n", range(4))
def test_diff_of_booleans_is_true_where_neighbours_differ(device: str, n: int) -> None:
    values = np.asarray([[True, False, False], [True, True, False]])
    x = pa.asarray(values, device=device)
    for axis in (0, 1):
        result = pa.diff(x, n=n, axis=axis, append=x)
        assert result.dtype == pa.bool
        expected = np.diff(np.concatenate([values, values], axis), n=n, axis=axis)
        np.testing.assert_array_equal(np.asarray(result.to_device("numpy")), expected)


def test_differences_with_ends_by_native_functions(device: str) -> None:
    xp = pa.namespace(device)
    middle, head, tail = np.float32([1, 4, 9]), np.float32([-5]), np.float32([7, 8])
    x, b, a = (pa.asarray(values, device=device).native for values in (middle, head, tail))
    for ends in ({"prepend": b}, {"append": a}, {"prepend": b, "append": a}, {}):
        parts = [head] * ("prepend" in ends) + [middle] + [tail] * ("append" in ends)
        result = np.asarray(pa.asarray(xp.diff(x, **ends)).to_device("numpy"))
        np.testing.assert_array_equal(result, np.diff(np.concatenate(parts)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_one_half(device: str, dtype: str) -> None:
    """Unlike a square root, the power of -inf is inf and that of -0.0 is 0.0."""
    if dtype not in pa.__array_namespace_info__().dtypes(device=device):
        pytest.skip(f"{device} has no {dtype}")
    x = pa.asarray([-INF, -0.0, 4.0, -4.0], dtype=dtype, device=device)
    half = pa.asarray([0.5], dtype=dtype, device=device)
    changed = pa.asarray(x, copy=True)
    changed **= 0.5
    for result in (x**0.5, x**half, pa.pow(x, half[0]), pa.pow(x, 0.5), changed):
        assert result.dtype == x.dtype
        assert _alike(np.asarray(result.to_device("numpy")), np.asarray([INF, 0.0, 2.0, NAN]))
